/* SPDX-License-Identifier: BSD-3-Clause

   The ranks and what they redistribute: included behind a policy, which has advance(), receive(),
   has_received_all, finish(), FORCE and plan_rank(); where ranks run more than once, MAY_RUN and
   NEXT_RUN. */

#ifndef NEXT_RUN
#define MAY_RUN true
#define NEXT_RUN break
#endif

/* ---- What can complete ---- */

#define COMPLETIONS(n) \
  :: atomic { \
    credits[pair(me, rank_after(n))] ? count -> \
      peer = rank_after(n); credited(peer, count); awake[me] = true; forget() } \
  :: atomic { \
    leaving[pair(me, rank_after(n))] != NOTHING -> \
      peer = rank_after(n); has_left(peer); awake[me] = true; forget() } \
  :: atomic { \
    nempty(posted[pair(rank_after(n), me)]) && nempty(data[pair(rank_after(n), me)]) -> \
      peer = rank_after(n); receive(peer); expected[me]--; awake[me] = true; forget() }

#if P > 3
#define ALL_COMPLETIONS COMPLETIONS(1) COMPLETIONS(2) COMPLETIONS(3)
#else
#define ALL_COMPLETIONS COMPLETIONS(1) COMPLETIONS(2)
#endif

proctype rank(byte me) {
  do
  :: atomic { awake[me] && MAY_RUN -> awake[me] = false; advance(); forget() }
  ALL_COMPLETIONS
#ifdef CREDIT_BEFORE_RECEIVE
  :: atomic {
    late_source[me] > 0 ->
      posted[pair(late_source[me] - 1, me)] ! late_place[me], late_count[me];
      late_source[me] = 0; awake[me] = true }
#endif
  FORCE
  :: atomic { !awake[me] && has_sent_all && has_received_all -> finish(); forget(); NEXT_RUN }
  od
}

/* ---- Every matrix ---- */

#define from_of(p) ((p) / P)
#define to_of(p) ((p) % P)

/* Chooses a transfer matrix; of those that only differ in the number of the first rank, one. */
inline choose_matrix() {
  i = 0;
  do
  :: i < P * P ->
    if
    :: from_of(i) != to_of(i) -> select(n : 0 .. MOST); blocks[i] = n
    :: else
    fi;
    i++
  :: else -> break
  od;
  skip;
  d_step {
    n = 1;
    found = true;
    do
    :: n < P && found ->
      i = 0;
      do
      :: i < P * P ->
        j = pair((from_of(i) + n) % P, (to_of(i) + n) % P);
        if
        :: blocks[i] < blocks[j] -> break
        :: blocks[i] > blocks[j] -> found = false; break
        :: else -> i++
        fi
      :: else -> break
      od;
      n++
    :: else -> break
    od;
    i = 0;
    n = 0;
    do
    :: i < P * P ->
      n = n + blocks[i];
      exports[from_of(i)] = exports[from_of(i)] + blocks[i];
      imports[to_of(i)] = imports[to_of(i)] + blocks[i];
      i++
    :: else -> break
    od;
    found = found && n <= TOTAL
  }
}

init {
  byte me;
  atomic {
    choose_matrix();
    if
    :: found ->
      do
      :: me < P -> plan_rank(); idle[me] = SENDS; awake[me] = true; me++
      :: else -> me = 0; break
      od;
      do
      :: me < P -> run rank(me); me++
      :: else -> me = 0; break
      od
    :: else
    fi;
  end_skipped:
    forget()
  }
}
