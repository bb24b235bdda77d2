/* SPDX-License-Identifier: BSD-3-Clause

   Blocks that a rank takes from the slots of another rank of its node (src/engine/pulls.*): part
   of ordered.pml, for Spin.

   Other ranks go on between any two of these steps: to find a hole that has been left, to copy a
   block, to tell its source, which only looks at `taken`. It is open how long a rank waits for a
   hole while others take its own blocks. Holes, waiting room and messages are those of ordered.pml.

   Left out: the order in which memory becomes visible, and sleep, of which each has an end.

   PULLED  1: all flows, 2: all but those from and to one rank
   RUNS    executions of the plan; in between the application writes blocks to the slots anew */

byte taken[P * P];           /* blocks of a flow: its receiver writes this, its source reads it */
byte pulled[P * P];          /* the same, in this execution */
byte pulling[P], copied[P];  /* blocks that are being taken, and how many of them are copied */
byte run_of[P];              /* executions that a rank has ended */
byte entered;                /* the agreement ahead of an execution, by all ranks in all */
byte free_at_first[P];
bool is_patient[P];          /* it has not tried to make do with the waiting room */

#define is_pulling (pulling[me] > 0)

/* ---- The receiver's end ---- */

#ifdef PULLS_OVERTAKE_WAITING_BLOCKS
#define holes_are_next true
#define lands_first (given[me] == imports[me])
#else
#define holes_are_next (room_used[me] == 0)
#define lands_first true
#endif
#ifdef PULLS_INTO_SLOTS_NOT_LEFT
#define is_left(hole) true
#else
#define is_left(hole) is_free[at(hole)]
#endif

/* The next n imports have a place: they are asked for, or taken in the next steps. */
inline ask() {
  if
  :: next_is_pulled ->
    pulling[me] = n;
#ifdef TOLD_BEFORE_COPIED
    taken[pair(next_source, me)] = taken[pair(next_source, me)] + n;
    awake[next_source] = true;
#endif
    progress = true
  :: else -> give(next_source, given[me], n); given[me] = given[me] + n
  fi
}

inline copy() {
  peer = next_source;
  first = pulled[pair(peer, me)] + copied[me];
  n = content[peer * SLOTS + export_slot[pair(peer, me) * MOST + first]];
  assert(n == block(peer, me, first));
  assert(run_of[peer] == run_of[me]); /* not what was there before the application wrote */
  store(given[me] + copied[me], n);
  copied[me]++
}

inline tell() {
  peer = next_source;
  pulled[pair(peer, me)] = pulled[pair(peer, me)] + pulling[me];
#ifndef TOLD_BEFORE_COPIED
  taken[pair(peer, me)] = taken[pair(peer, me)] + pulling[me];
#endif
  awake[peer] = true;
  given[me] = given[me] + pulling[me];
  pulling[me] = 0;
  copied[me] = 0;
  awake[me] = true
}

/* ---- Waiting ---- */

#define is_left_of(to) (is_pulled(me, to) && sent[pair(me, to)] < blocks[pair(me, to)])
#define are_left \
  (is_left_of(rank_after(1)) || is_left_of(rank_after(2)) || (P > 3 && is_left_of(rank_after(3))))
#ifdef PULLS_NEVER_ASIDE
#define waits_for_slots true
#define may_take_less false
#else
#define waits_for_slots (DIRECT && shift[me] > 0 && !next_is_pulled)
#define may_take_less (next_is_pulled || (expected[me] == 0 && sending[me] == 0))
#endif
/* Once what comes next does not fit a hole, it is tried whether it fits the waiting room. */
inline make_do() {
  is_patient[me] = false;
  takes_less = may_take_less;
  give_credit();
  takes_less = false;
  awake[me] = progress
}

#define FORCE \
  :: atomic { !awake[me] && !is_pulling && is_patient[me] && are_left -> make_do(); forget() } \
  :: atomic { is_pulling && copied[me] < pulling[me] -> copy(); forget() } \
  :: atomic { is_pulling && copied[me] == pulling[me] -> tell(); forget() }

/* ---- The source's end ---- */

/* It counts all executions. */
#ifdef COUNTS_ONE_EXECUTION
#define taken_before(from, to) 0
#else
#define taken_before(from, to) (run_of[from] * blocks[pair(from, to)])
#endif
#define is_taken(to) \
  (is_pulled(me, to) && taken_before(me, to) + sent[pair(me, to)] < taken[pair(me, to)])

/* Slots are free whose blocks have been taken. */
inline look() {
  is_patient[me] = true;
  i = 0;
  do
  :: i < P && is_taken(i) -> release(i, sent[pair(me, i)], 1); sent[pair(me, i)]++
  :: i < P && !is_taken(i) -> i++
  :: else -> break
  od
}

/* ---- One execution after another ---- */

#ifdef STARTS_WITHOUT_AGREEMENT
#define MAY_RUN !is_pulling
#else
#define MAY_RUN (!is_pulling && entered >= P * run_of[me])
#endif

inline restart() {
  run_of[me]++;
  entered++;
  awake[me] = true;
  given[me] = 0;
  landed[me] = 0;
  aside_landed[me] = 0;
  is_patient[me] = true;
  i = 0;
  do
  :: i < IMPORTS -> arrived[import(i)] = false; place[import(i)] = NOWHERE; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < SLOTS -> is_free[at(i)] = (i < free_at_first[me]); content[at(i)] = 0; i++
  :: else -> break
  od;
  free_slots[me] = free_at_first[me];
  i = 0;
  do
  :: i < P ->
    sent[pair(me, i)] = 0;
    staged[pair(me, i)] = 0;
    pulled[pair(i, me)] = 0;
    j = 0;
    do
    :: j < blocks[pair(me, i)] -> content[at(slot_of(i, j))] = block(me, i, j); j++
    :: else -> break
    od;
    i++
  :: else -> break
  od;
  forget()
}

#define NEXT_RUN \
  if \
  :: run_of[me] + 1 < RUNS -> restart() \
  :: else -> break \
  fi
