// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"crypto/sha256"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzRInvariants plays random calls, reports and pauses on one deployment and
// checks after each what must hold in every state and across every change.
func FuzzRInvariants(f *testing.F) {
	// A fair worker and operator, an upgrade with hooks and a deletion among them.
	fair := func(n int) []byte { return bytes.Repeat([]byte{opWork, opFollow}, n) }
	upgrade, remove := []byte{opRequest, 0, 1, 3}, []byte{opRequest, 0, 0, 7}
	f.Add(slices.Concat(fair(10), upgrade, fair(40), remove, fair(10)))
	f.Add(slices.Concat(fair(3), upgrade, fair(8), upgrade, remove, fair(60)))
	// A deployment that is deleted before a worker comes.
	f.Add(slices.Concat(remove, fair(5)))
	// Lost workers, and reports of everything about anything.
	f.Add(bytes.Repeat([]byte{opWork, opPass, 200}, 20))
	f.Add(bytes.Repeat([]byte{opWork, opReport, 1, 4, 2, 0, 9, opReport, 0, 5, 3, 1, 30, opRequest, 2, opAbsence}, 20))
	for i := range 40 {
		var moves []byte
		for block := sha256.Sum256([]byte{byte(i)}); len(moves) < 512; block = sha256.Sum256(block[:]) {
			moves = append(moves, block[:]...)
		}
		f.Add(moves)
	}
	f.Fuzz(func(t *testing.T, moves []byte) {
		moves = moves[:min(len(moves), maxMoves)]
		g := &game{world: newWorld(t), moves: moves, frozen: map[string][]Step{}, final: map[string]TaskResult{}}
		for len(g.moves) > 0 && !t.Failed() {
			g.play()
		}
	})
}

// maxMoves bounds a game in bytes: a longer one shows nothing that it does not,
// and takes so long that it passes for one that hangs.
const maxMoves = 512

// The moves of a game.
const (
	// opWork makes the next right call of a worker.
	opWork = iota
	// opFollow reports what an operator without trouble would.
	opFollow
	opReport
	opPass
	opRequest
	opCall
	opAbsence
	opFailFlow
)

// moveOf maps a byte to a move. Work comes up more often than trouble, or no
// game would come far.
var moveOf = [...]int{
	opWork, opFollow, opReport, opPass, opRequest, opCall, opAbsence, opFailFlow,
	opWork, opWork, opWork, opWork, opWork, opFollow, opFollow, opFollow, opReport,
}

// game plays a world by the bytes of its input.
type game struct {
	*world
	moves []byte
	// frozen are the steps of superseded tasks when that happened.
	frozen map[string][]Step
	// final are results that must not change any more.
	final map[string]TaskResult
	// followed is the phase that the operator without trouble is in.
	followed int
}

// draw takes a number below n from the input.
func (g *game) draw(n int) int {
	if len(g.moves) == 0 {
		return 0
	}
	drawn := int(g.moves[0]) % n
	g.moves = g.moves[1:]
	return drawn
}

func (g *game) play() {
	g.renew()
	before := g.Clone()
	var err error
	switch moveOf[g.draw(len(moveOf))] {
	case opWork:
		err = g.work()
	case opFollow:
		g.follow()
	case opReport:
		g.randomReport()
	case opPass:
		g.pass(float64(g.draw(256)))
	case opRequest:
		_, err = g.RequestChange(g.randomChange(), g.now, g.newID)
	case opCall:
		err = g.randomCall()
	case opAbsence:
		at := g.received()
		g.ApplyAbsence(at, at)
	case opFailFlow:
		if task := g.held(); task != nil {
			_, err = g.FinishTask(task.ID, *task.WorkerID, TaskFailed, nil, g.now)
		}
	}
	if err != nil && !reflect.DeepEqual(before, g.State) {
		g.t.Errorf("a refused call (%v) changed the state", err)
	}
	if err != nil && CodeOf(err) == CodeInternal {
		g.t.Errorf("internal error: %v", err)
	}
	g.checkChange(before)
	g.checkState()
}

// renew keeps the leases that have not run out.
func (g *game) renew() {
	for i := range g.Tasks {
		if task := &g.Tasks[i]; task.Status == TaskRunning && g.now.Before(*task.LeaseExpiresAt) {
			g.must(g.RenewLease(task.ID, *task.WorkerID, testLease, g.now))
		}
	}
}

// held returns the deepest task that a worker holds, or nil.
func (g *game) held() *Task {
	for i := range g.Tasks {
		if task := &g.Tasks[len(g.Tasks)-1-i]; task.Status == TaskRunning {
			return task
		}
	}
	return nil
}

// work makes the call that is next in the flow at hand, or claims one.
func (g *game) work() error {
	task := g.held()
	if task == nil || !g.now.Before(*task.LeaseExpiresAt) || g.waits(task) {
		_, _, err := Claim([]*State{g.State}, []string{testWorker, "worker-2"}[g.draw(2)], testLease, g.now)
		return err
	}
	for i := range task.Steps {
		step := &task.Steps[i]
		switch {
		case step.Status == StepSucceeded:
			continue
		case step.Kind == StepOperatorPhase && g.laterHook(task, i):
			return nil
		case step.Kind == StepOperatorPhase:
			continue
		case step.Status == StepPending:
			_, err := g.StartStep(task.ID, *task.WorkerID, step.ID, g.now)
			return err
		}
		return g.workOn(task, step)
	}
	_, err := g.FinishTask(task.ID, *task.WorkerID, TaskSuccess, nil, g.now)
	return err
}

// waits tells whether the task waits for a hook task that is not claimed yet.
func (g *game) waits(task *Task) bool {
	for _, hook := range g.Tasks.below(task) {
		if hook.Status == TaskPending {
			return true
		}
	}
	return false
}

func (g *game) laterHook(task *Task, i int) bool {
	for _, later := range task.Steps[i:] {
		if later.Kind == StepHook {
			return true
		}
	}
	return false
}

// workOn does what the running step is for, then finishes it.
func (g *game) workOn(task *Task, step *Step) error {
	worker := *task.WorkerID
	switch {
	case step.Kind == StepHook && g.Tasks.startedBy(step.ID, *step.Hook) == nil:
		_, err := g.StartHookTask(task.ID, worker, step.ID, *step.Hook, g.now, g.newID)
		return err
	case step.Name == stepSpecWrite && !task.Recorded():
		_, err := g.RecordSpecWrite(task.ID, worker, g.now)
		g.followed = 0
		return err
	case step.Name == stepDeletionRequest && !task.Recorded():
		g.followed = 0
		return g.RecordDeletionRequest(task.ID, worker, g.now)
	}
	_, err := g.FinishStep(task.ID, worker, step.ID, nil, g.now)
	return err
}

// follow reports the newest written instance one phase further each time.
func (g *game) follow() {
	words := [][2]string{
		{"CreatingPrerequisites", "Deploying"}, {"CreatingHelmRelease", "Deploying"}, {"CreatingServices", "Deploying"},
		{"Ready", "Deploying"}, {"Ready", "Running"},
	}
	if g.Deployment.DeletionRequestedAt != nil {
		words = [][2]string{{"Deleting", "Deleting"}, {"Deleted", "Deleted"}}
	}
	if g.Deployment.WrittenInstanceID == nil {
		return
	}
	g.pass(5)
	word := words[min(g.followed, len(words)-1)]
	g.followed++
	g.report(*g.Deployment.WrittenInstanceID, word[0], word[1])
}

func (g *game) randomReport() {
	instance := "unheard-of"
	if drawn := g.draw(len(g.Instances) + 1); drawn > 0 {
		instance = g.Instances[drawn-1].ID
	}
	phases := []string{"", "CreatingPrerequisites", "CreatingHelmRelease", "CreatingServices", "Ready", "Failed", "Deleting", "Deleted"}
	states := []string{"Deploying", "Running", "Error", "Deleting", "Deleted", "?"}
	observed := reported(instance, phases[g.draw(len(phases))], states[g.draw(len(states))])
	doubt := g.draw(8)
	if doubt == 1 {
		observed.InstanceSource = InstanceSourceSpec
	}
	if doubt == 2 {
		observed.Generation = 2
	}
	for _, step := range []string{stepPrerequisites, stepHelmRelease, stepServices, stepReady} {
		if drawn := g.draw(4); drawn < 2 {
			made := condition(conditionOf[step], 0)
			made.LastTransitionTime = g.now.Add(time.Duration(g.draw(256)-200) * time.Second)
			observed.Conditions = append(observed.Conditions, made)
		}
	}
	receipt := Receipt{At: g.received(), SentAt: g.now.Add(time.Duration(g.draw(64)-32) * time.Second), Complete: g.draw(4) > 0}
	before := g.Clone()
	g.ApplyReport(observed, noPods, receipt)

	earlier := before.Deployment.WrittenInstanceID == nil || *before.Deployment.WrittenInstanceID != observed.InstanceID
	if earlier && !strings.HasPrefix(observed.Phase, "Delet") && !reflect.DeepEqual(before.Tasks, g.Tasks) {
		g.t.Errorf("a report of the earlier instance %s moved tasks", observed.InstanceID)
	}
	if inDoubt(&observed) && !strings.HasPrefix(observed.Phase, "Delet") && !reflect.DeepEqual(before.Tasks, g.Tasks) {
		g.t.Error("a doubtful report moved tasks")
	}
	once := g.Clone()
	g.ApplyReport(observed, noPods, receipt)
	if !reflect.DeepEqual(once, g.State) {
		g.t.Error("the same report again changed the state")
	}
}

// received is when a report came in that is applied now: it may have waited while
// calls went before it.
func (g *game) received() time.Time {
	at := g.now.Add(-time.Duration(g.draw(32)) * time.Second)
	if at.Before(noon) {
		return noon
	}
	return at
}

func (g *game) randomChange() Change {
	changes := []Change{
		stopServer, startServer, scaleTo(g.draw(4)), upgradeTo([]string{"2.4.0", "2.5.0"}[g.draw(2)]),
		updateTo(shopSpec), runMigrate, {Kind: TaskStopComponents, Components: []string{"web"}}, deletion,
	}
	return changes[g.draw(len(changes))]
}

// randomCall makes a call that may be wrong in any way.
func (g *game) randomCall() error {
	task := &g.Tasks[g.draw(len(g.Tasks))]
	worker := []string{testWorker, "worker-2"}[g.draw(2)]
	step := "none"
	if len(task.Steps) > 0 {
		step = task.Steps[g.draw(len(task.Steps))].ID
	}
	var err error
	switch g.draw(9) {
	case 0:
		_, err = g.StartStep(task.ID, worker, step, g.now)
	case 1:
		_, err = g.FinishStep(task.ID, worker, step, nil, g.now)
	case 2:
		_, err = g.FinishStep(task.ID, worker, step, ptr("no"), g.now)
	case 3:
		_, err = g.StartHookTask(task.ID, worker, step, g.randomChange(), g.now, g.newID)
	case 4:
		_, err = g.RecordSpecWrite(task.ID, worker, g.now)
	case 5:
		err = g.RecordDeletionRequest(task.ID, worker, g.now)
	case 6:
		_, err = g.FinishTask(task.ID, worker, TaskSuccess, nil, g.now)
	case 7:
		err = g.RenewLease(task.ID, worker, 60, g.now)
	case 8:
		_, _, err = Claim([]*State{g.State}, worker, testLease, g.now)
	}
	return err
}
