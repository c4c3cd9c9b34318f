// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the page does by itself between two answers of the server: it asks for
// news while someone looks at it, lets ages grow by the server's clock, and says
// since when its data is from when the server does not answer.
"use strict";
(() => {
  const reloadEvery = 10_000;
  // offset is what the server's clock is ahead of the browser's.
  // told is what the server's clock said last.
  let offset = 0, told = 0, seenAt = Date.now(), lastAsked = Date.now(), open = [];

  const content = () => document.getElementById("content");
  const now = () => Date.now() + offset;

  function learn() {
    const at = Number(document.getElementById("clock").dataset.now);
    if (at === told) return;
    told = at;
    offset = at - Date.now();
  }

  // The words of coarse and fine in age.go.
  function coarse(seconds) {
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 2 * 86400) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }
  function fine(seconds) {
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  }
  const since = (at) => Math.max(0, Math.floor((now() - at) / 1000));
  const absolute = (iso) => iso.slice(0, 19).replace("T", " ") + " UTC";
  function write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function tick() {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time:not([data-at], [data-span])")) {
      if (!time.dateTime) continue;
      write(time, coarse(since(Date.parse(time.dateTime))));
      if (!time.title) time.title = absolute(time.dateTime);
    }
    for (const time of document.querySelectorAll("time[data-span]")) write(time, fine(since(Date.parse(time.dateTime))));
    write(document.getElementById("seen-age"), coarse(Math.max(0, Math.floor((Date.now() - seenAt) / 1000))));
  }

  // The newest reports of clusters come with every answer; the rows that they
  // held follow.
  function spreadReports() {
    const newest = new Map();
    for (const time of document.querySelectorAll("time[data-of]")) newest.set(time.dataset.of, time.dateTime);
    for (const time of document.querySelectorAll("time[data-r]")) {
      const at = newest.get(time.dataset.r);
      if (!at || at === time.dateTime) continue;
      time.dateTime = at;
      time.title = absolute(at);
    }
  }

  function reload() {
    if (document.hidden || !content()) return;
    lastAsked = Date.now();
    htmx.trigger(content(), "reload");
  }

  function reached() {
    seenAt = Date.now();
    const at = document.getElementById("seen-at");
    at.dateTime = new Date(now()).toISOString();
    at.textContent = at.dateTime.slice(11, 19) + " UTC";
    document.getElementById("offline").hidden = true;
    document.body.classList.remove("offline");
  }
  function unreachable() {
    document.getElementById("offline").hidden = false;
    document.body.classList.add("offline");
    tick();
  }

  learn();
  spreadReports();
  tick();
  setInterval(tick, 1000);
  setInterval(reload, reloadEvery);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    tick();
    if (Date.now() - lastAsked >= reloadEvery) reload();
  });

  // What someone unfolded stays so when the content is replaced.
  document.addEventListener("htmx:beforeSwap", () => {
    open = Array.from(document.querySelectorAll("details[open][id]"), (details) => details.id);
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  });
  // A change of the status is said to those who do not see it.
  let status = document.getElementById("live")?.dataset.status;
  function say() {
    const is = document.getElementById("live")?.dataset.status;
    if (is && is !== status) document.getElementById("said").textContent = status = is;
  }
  function refresh() {
    learn();
    say();
    spreadReports();
    tick();
  }
  document.addEventListener("htmx:afterSettle", refresh);
  document.addEventListener("htmx:oobAfterSwap", refresh);
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.xhr.status < 500) reached();
  });
  document.addEventListener("htmx:sendError", unreachable);
  document.addEventListener("htmx:timeout", unreachable);
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status >= 500) unreachable();
    else location.reload();
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.(".pop") && event.newState === "open") {
      event.target.querySelector("input:not([type=hidden]), button")?.focus();
    }
  }, true);
})();
