/* SPDX-License-Identifier: BSD-3-Clause

   CYCLIC (src/schedule/cyclic.*, src/engine/cyclic.cpp, src/engine/slots): a root finds cycles and
   shifts, the ranks carry their actions out in the order in which they get them. For Spin.

   Checked for every transfer matrix of P ranks, on ranks that are as full as can be and have one
   block of scratch, and for every order of edges: no rank is stuck, and neither is the root. A rank
   that is ahead credits for an action that its source has not begun; which credit is taken next is
   open. Places are counted only, which block is in which is the business of slots.pml.

   Left out: notes to the root (it sees what ranks have done), and increments: a message is a block.

   P         ranks
   MOST      blocks of a flow, at most
   TOTAL     blocks of all flows, at most
   WINDOW    actions that may be on their way to a rank or wait there
   A mutant breaks one rule: -D<NAME OF THE MUTANT>. */

#define CREDITS_OF_A_PAIR 2
#define NONE P

/* Credits that a rank keeps: of all destinations that may be ahead of it, and one. */
#ifdef CREDITS_AHEAD_TAKE_ALL_ROOM
#define KEPT (CREDITS_OF_A_PAIR * WINDOW)
#else
#define KEPT (CREDITS_OF_A_PAIR * (WINDOW + 1) + 1)
#endif
#ifdef NO_SCRATCH
#define SCRATCH 0
#else
#define SCRATCH 1
#endif

#define pair(from, to) ((from) * P + (to))

byte left[P * P];      /* the transfer matrix: what is not scheduled */
byte exports[P], imports[P];
byte unscheduled[P];   /* blocks that leave or arrive and are in no action that was taken */
byte places[P];        /* free ones, in slots and scratch */
byte in_window[P];     /* actions that were sent and are not carried out */
byte credits[P * P];   /* on their way, by (source of the blocks, who credits) */
byte unanswered[P * P];
byte taken[P * P];     /* by the source, and kept */
byte kept[P];          /* of all destinations */
byte data[P * P];      /* on their way */

chan actions[P] = [WINDOW] of { byte, byte, byte }; /* source, destination, blocks */

/* ---- A rank ---- */

#define TAKE_CREDIT(to) \
  :: atomic { \
    kept[me] < KEPT && credits[pair(me, to)] > 0 -> \
      credits[pair(me, to)]--; taken[pair(me, to)]++; kept[me]++ }
#if P > 3
#define TAKE_CREDITS TAKE_CREDIT(0) TAKE_CREDIT(1) TAKE_CREDIT(2) TAKE_CREDIT(3)
#else
#define TAKE_CREDITS TAKE_CREDIT(0) TAKE_CREDIT(1) TAKE_CREDIT(2)
#endif

proctype rank(byte me) {
  byte source = NONE, destination = NONE;
  byte to_credit, to_receive, to_send, number;
  bool busy;
  do
  TAKE_CREDITS
  :: atomic {
    !busy && nempty(actions[me]) ->
      actions[me] ? source, destination, number;
      busy = true;
      to_credit = (source < NONE -> number : 0);
      to_receive = to_credit;
      to_send = (destination < NONE -> number : 0);
      unscheduled[me] = unscheduled[me] - to_receive - to_send;
      number = 0 }
  :: atomic { /* a place is reserved by the credit */
    busy && to_credit > 0 && places[me] > 0 &&
    unanswered[pair(source, me)] < CREDITS_OF_A_PAIR ->
      places[me]--; to_credit--; unanswered[pair(source, me)]++; credits[pair(source, me)]++ }
  :: atomic {
    busy && to_send > 0 && taken[pair(me, destination)] > 0 ->
      taken[pair(me, destination)]--; kept[me]--;
      to_send--; places[me]++; data[pair(me, destination)]++ }
  :: atomic {
    busy && to_receive > 0 && data[pair(source, me)] > 0 ->
      data[pair(source, me)]--; unanswered[pair(source, me)]--; to_receive-- }
  :: atomic {
    busy && to_send == 0 && to_receive == 0 ->
      busy = false; source = NONE; destination = NONE; in_window[me]-- }
  :: atomic {
    !busy && unscheduled[me] == 0 && empty(actions[me]) ->
      assert(kept[me] == 0);
      assert(places[me] == SCRATCH + (exports[me] > imports[me] -> exports[me] - imports[me] : 0));
      break }
  od
}

/* ---- The root's search ---- */

byte stack[P];
byte depth;
byte position[P];     /* in the stack, NONE outside */
byte destination_of[P]; /* of the edge at hand, NONE when it is used up */

#define edge(r) left[pair(r, destination_of[r])]

inline has_edges(r) {
  found = false;
  j = 0;
  do
  :: j < P -> found = found || left[pair(r, j)] > 0; j++
  :: else -> j = 0; break
  od
}

inline push(r) {
  stack[depth] = r;
  position[r] = depth;
  depth++
}

/* All that the stack holds from `first` on. Whoever is on top gets its action first, and the root
   waits for room in the window of the next one then. */
inline schedule(first, is_cycle) {
  least = MOST;
  i = first;
  do
  :: i + (is_cycle -> 0 : 1) < depth ->
    least = (edge(stack[i]) < least -> edge(stack[i]) : least);
    i++
  :: else -> i = 0; break
  od;
  last = stack[depth - 1];
  do
  :: depth > first ->
    depth--;
    top = stack[depth];
    position[top] = NONE;
    i = (depth > first -> stack[depth - 1] : (is_cycle -> last : NONE));
    in_window[top] < WINDOW;
    in_window[top]++;
    if
    :: is_cycle || top != last ->
      actions[top] ! i, destination_of[top], least;
      edge(top) = edge(top) - least;
      if
      :: edge(top) == 0 -> destination_of[top] = NONE
      :: else
      fi
    :: else -> actions[top] ! i, NONE, least
    fi
  :: else -> break
  od;
  i = 0
}

inline advance() {
  top = stack[depth - 1];
  has_edges(top);
  if
  :: !found -> schedule(0, false)
  :: else ->
    if
    :: destination_of[top] == NONE ->
      select(i : 0 .. P - 1);
      do
      :: left[pair(top, i)] == 0 -> i = (i + 1) % P
      :: else -> break
      od;
      destination_of[top] = i
    :: else
    fi;
    j = position[destination_of[top]];
    if
    :: j == NONE -> push(destination_of[top])
    :: else -> first = j; schedule(first, true)
    fi
  fi
}

proctype root() {
  byte start, top, last, least, first, i, j;
  bool found;
  atomic {
    do
    :: start < P ->
      has_edges(start);
      if
      :: !found -> start++
      :: else ->
        push(start);
        do
        :: depth > 0 -> advance()
        :: else -> break
        od
      fi
    :: else -> break
    od
  }
}

init {
  byte i, n, total;
  atomic {
    do
    :: i < P * P ->
      if
      :: i / P != i % P ->
        select(n : 0 .. MOST);
        left[i] = n;
        total = total + n;
        exports[i / P] = exports[i / P] + n;
        imports[i % P] = imports[i % P] + n
      :: else
      fi;
      i++
    :: else -> i = 0; n = 0; break
    od;
    if
    :: total <= TOTAL ->
      do
      :: i < P ->
        unscheduled[i] = exports[i] + imports[i];
        places[i] = SCRATCH + (imports[i] > exports[i] -> imports[i] - exports[i] : 0);
        position[i] = NONE;
        destination_of[i] = NONE;
        i++
      :: else -> i = 0; break
      od;
      do
      :: i < P -> run rank(i); i++
      :: else -> i = 0; break
      od;
      run root()
    :: else
    fi
  }
}
