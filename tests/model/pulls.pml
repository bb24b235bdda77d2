/* SPDX-License-Identifier: BSD-3-Clause

   Blocks that a rank takes from the slots of another rank of its node (src/storage/pulls.*): part
   of ordered.pml, for Spin.

   Other ranks go on between any two of these steps: to find a hole that has been left, to copy a
   block, to tell its source, which only looks at `taken`. While there is room aside, it is open how
   long a rank waits for a hole. Holes, waiting room and messages are those of ordered.pml.

   Left out: the order in which memory becomes visible, and how a rank waits.

   PULLED  1: all flows, 2: all but those from and to one rank
   RUNS    executions of the plan; in between the application writes blocks to the slots anew */

byte taken[P * P];           /* of a flow: its receiver writes this, its source reads it */
byte pulled[P * P];          /* the same, as the receiver counts */
byte pulling[P], copied[P];  /* blocks that are being taken, and how many of them are copied */
byte run_of[P];              /* executions that a rank has ended */
byte entered;                /* the agreement ahead of an execution, by all ranks in all */
byte free_at_first[P];

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
    taken[pair(next_source, me)] = pulled[pair(next_source, me)] + n;
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
  taken[pair(peer, me)] = pulled[pair(peer, me)];
  awake[peer] = true;
  given[me] = given[me] + pulling[me];
  pulling[me] = 0;
  copied[me] = 0;
  awake[me] = true
}

#ifdef PULLS_NEVER_ASIDE
#define may_pull_aside false
#else
#define may_pull_aside \
  (!awake[me] && !is_pulling && given[me] < imports[me] && next_is_pulled && \
   given[me] >= shift[me] && room_used[me] < room_blocks)
#endif
inline pull_aside() {
  takes_less = true;
  next_piece();
  credit_room();
  takes_less = false
}

#define FORCE \
  :: atomic { may_pull_aside -> pull_aside(); forget() } \
  :: atomic { is_pulling && copied[me] < pulling[me] -> copy(); forget() } \
  :: atomic { is_pulling && copied[me] == pulling[me] -> tell(); forget() }

/* ---- The source's end ---- */

inline reset_taken() {
  i = 0;
  do
  :: i < P -> taken[pair(me, i)] = 0; i++
  :: else -> break
  od
}

/* Slots are free whose blocks have been taken. */
inline look() {
#ifdef RESET_AFTER_THE_AGREEMENT
  if
  :: is_new[me] -> reset_taken(); is_new[me] = false
  :: else
  fi;
#endif
  i = 0;
  do
  :: i < P && is_pulled(me, i) && sent[pair(me, i)] < taken[pair(me, i)] ->
    release(i, sent[pair(me, i)], 1);
    sent[pair(me, i)]++
  :: i < P && !(is_pulled(me, i) && sent[pair(me, i)] < taken[pair(me, i)]) -> i++
  :: else -> break
  od
}

/* ---- One execution after another ---- */

#ifdef STARTS_WITHOUT_AGREEMENT
#define MAY_RUN !is_pulling
#else
#define MAY_RUN (!is_pulling && entered >= P * run_of[me])
#endif
#ifdef RESET_AFTER_THE_AGREEMENT
bool is_new[P];
#endif

inline restart() {
  run_of[me]++;
  entered++;
  awake[me] = true;
  given[me] = 0;
  landed[me] = 0;
  aside_landed[me] = 0;
#ifdef RESET_AFTER_THE_AGREEMENT
  is_new[me] = true;
#elif !defined(NEVER_RESET)
  reset_taken();
#endif
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
