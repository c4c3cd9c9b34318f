// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package web is the page: what runs, what does not, and why. It renders HTML on
// the server; htmx, the style sheet and a small script come from embedded files,
// and the Content-Security-Policy lets in nothing else.
//
// A browser signs in with a viewer's or an admin's token and gets a session of
// its own: an opaque secret in an HttpOnly, SameSite=Strict cookie, of which the
// store keeps the hash, so that every replica of the server knows it and the
// token itself is never in the browser. A session ends when it is signed out,
// when its token is revoked, or after its lifetime.
//
// Changes are the use cases of the API, for admins alone. Each form carries an
// idempotency key, so that sending it twice makes one task, and requests from
// other origins are refused.
//
// A page reloads its content each ten seconds while someone looks at it. The
// content carries a digest of what it shows; as long as that is the same, the
// answer holds the times of the reports alone.
package web
