/* SPDX-License-Identifier: BSD-3-Clause

   STREAM where final slots are given (src/engine/slots/*): arrivals wait in buffers for their
   slots, and are misplaced when that could be for ever. For Spin.

   Checked for every transfer matrix of P ranks and flows of at most MOST blocks, on ranks that are
   as full as can be: no rank is stuck, every block arrives once and keeps a slot of its own,
   nothing is sent without a posted receive, nothing is written over, and BUFFERS buffers of MESSAGE
   blocks suffice, one of a single block too.

   BUFFERS    receive buffers, 1 or 2
   DIRECT     1: messages may go straight to slots
   ANY_SLOTS  imports have any final slots; else those of one order, turned by any number */

/* Receive buffers: whose blocks they hold, or wait for; 0 when idle. */
byte buffer_source[P * BUFFERS]; /* and one */
byte buffer_first[P * BUFFERS];  /* in the flow; of those that are not in slots */
byte buffer_left[P * BUFFERS];
bool buffer_arrived[P * BUFFERS];

#include "transport.pml"

#define IN_SLOT 100 /* and the slot: where a receive is posted that is not for a buffer */
#define NO_SLOT 255

byte final_slot[P * P * MOST]; /* of block k of a flow */
byte slots[P];                 /* of a rank: full before or after */
byte requested[P * P];         /* blocks credited */
byte placed[P];                /* imports that are in slots */

#define buffer(b) (me * BUFFERS + (b))

#define has_received_all (placed[me] == imports[me])
#define final_of(source, k) final_slot[pair(source, me) * MOST + (k)]

/* Sets j: an idle buffer, or BUFFERS. */
inline find_idle() {
  j = 0;
  do
  :: j < BUFFERS && buffer_source[buffer(j)] > 0 -> j++
  :: else -> break
  od
#ifdef NO_SCRATCH
  ; j = BUFFERS
#endif
}

/* Sets k: the highest free slot, or NO_SLOT. */
inline find_free() {
  k = slots[me];
  do
  :: k > 0 && is_free[at(k - 1)] -> k--; break
  :: k > 0 && !is_free[at(k - 1)] -> k--; if :: k == 0 -> k = NO_SLOT; break :: else fi
  :: else -> k = NO_SLOT; break
  od
}

/* ---- Landing ---- */

/* Blocks of buffer i go to their final slots while those are free; or to any, if need be. */
inline place_blocks(misplace) {
  do
  :: buffer_left[buffer(i)] > 0 ->
    k = final_of(buffer_source[buffer(i)] - 1, buffer_first[buffer(i)]);
    if
    :: !is_free[at(k)] && (misplace) -> find_free()
    :: !is_free[at(k)] && !(misplace) -> k = NO_SLOT
    :: else
    fi;
    if
    :: k == NO_SLOT -> break
    :: else ->
      is_free[at(k)] = false;
      free_slots[me]--;
      content[at(k)] = block(buffer_source[buffer(i)] - 1, me, buffer_first[buffer(i)]);
      placed[me]++;
      buffer_first[buffer(i)]++;
      buffer_left[buffer(i)]--
    fi
  :: else ->
    buffer_source[buffer(i)] = 0;
    buffer_first[buffer(i)] = 0;
    buffer_arrived[buffer(i)] = false;
    progress = true;
    break
  od;
  k = 0
}

inline place_held(misplace) {
  i = 0;
  do
  :: i < BUFFERS ->
    if
    :: buffer_arrived[buffer(i)] -> place_blocks(misplace)
    :: else
    fi;
    i++
  :: else -> break
  od
}

inline receive(source) {
  posted[pair(source, me)] ? j, count;
  data[pair(source, me)] ? first, n;
  assert(count == n);
  if
  :: j >= IN_SLOT ->
    content[at(j - IN_SLOT)] = block(source, me, first);
    placed[me]++
  :: else ->
    assert(buffer_source[buffer(j)] == source + 1 && buffer_first[buffer(j)] == first &&
           buffer_left[buffer(j)] == n && !buffer_arrived[buffer(j)]);
    buffer_arrived[buffer(j)] = true
  fi
}

/* ---- Crediting ---- */

/* Whether a buffer holds a block whose final slot is about to be left: credits then can wait. */
inline better_waits() {
  found = false;
  i = 0;
  do
  :: i < BUFFERS ->
    if
    :: buffer_arrived[buffer(i)] ->
      k = final_of(buffer_source[buffer(i)] - 1, buffer_first[buffer(i)]);
      peer = 0;
      do
      :: peer < P ->
        n = sent[pair(me, peer)];
#ifdef CREDITS_WAIT_FOR_SLOTS
        first = 0;
        n = blocks[pair(me, peer)];
        do
        :: first < n ->
          found = found || (slot_of(peer, first) == k && !is_free[at(k)] &&
                            content[at(k)] == block(me, peer, first));
          first++
        :: else -> break
        od
#else
        first = n - in_message[pair(me, peer)];
        do
        :: leaving[pair(me, peer)] == IN_PLACE && first < n ->
          found = found || slot_of(peer, first) == k;
          first++
        :: else -> break
        od
#endif
        ;
        peer++
      :: else -> break
      od
    :: else
    fi;
    i++
  :: else -> break
  od
}

#define may_ask(source) \
  (requested[pair(source, me)] < blocks[pair(source, me)] && \
   len(posted[pair(source, me)]) < CREDITS_OF_A_PAIR)

inline credit_buffer() {
#ifdef CREDITS_CROSS_MESSAGES
  n = (requested[pair(peer, me)] == 0 -> 1 : MESSAGE);
#else
  n = MESSAGE - requested[pair(peer, me)] % MESSAGE;
#endif
  if
  :: n > blocks[pair(peer, me)] - requested[pair(peer, me)] ->
    n = blocks[pair(peer, me)] - requested[pair(peer, me)]
  :: else
  fi;
#ifdef BUFFER_IS_NOT_RESERVED
  j = 0;
#endif
  buffer_source[buffer(j)] = peer + 1;
  buffer_first[buffer(j)] = requested[pair(peer, me)];
  buffer_left[buffer(j)] = n;
  give(peer, j, n);
  requested[pair(peer, me)] = requested[pair(peer, me)] + n
}

inline credit_slot() {
  is_free[at(k)] = false;
  free_slots[me]--;
  give(peer, IN_SLOT + k, 1);
  requested[pair(peer, me)]++
}

/* Whichever source is next, the proof needs no order; and wherever the message may go. */
inline give_credit() {
  if
  :: may_give && may_ask(rank_after(1)) -> peer = rank_after(1)
  :: may_give && may_ask(rank_after(2)) -> peer = rank_after(2)
#if P > 3
  :: may_give && may_ask(rank_after(3)) -> peer = rank_after(3)
#endif
  :: else -> peer = P
  fi;
  if
  :: peer < P ->
    find_idle();
    k = final_of(peer, requested[pair(peer, me)]);
    n = k;
    find_free();
    if
    :: j < BUFFERS -> credit_buffer()
    :: DIRECT && is_free[at(n)] -> k = n; credit_slot()
    :: DIRECT && !is_free[at(n)] && j == BUFFERS && k != NO_SLOT -> credit_slot()
    :: else
    fi
  :: else
  fi
}

inline advance() {
  do
  :: true ->
    progress = false;
    serve();
    stage_ahead();
    place_held(has_sent_all);
    better_waits();
    if
    :: !found -> give_credit()
    :: else
    fi;
    if
    :: !progress -> break
    :: else
    fi
  od
}

/* Blocks wait for their slots in the last buffer: they are misplaced when nothing completes, and
   for how long that is looked at is open. */
#define holds(b) buffer_arrived[buffer(b)]
#define is_idle(b) (buffer_source[buffer(b)] == 0)
#if BUFFERS > 1
#define is_full ((holds(0) || holds(1)) && !is_idle(0) && !is_idle(1) && free_slots[me] > 0)
#else
#define is_full (holds(0) && free_slots[me] > 0)
#endif
#ifdef NEVER_MISPLACES
#define FORCE
#else
#define FORCE \
  :: atomic { !awake[me] && is_full -> place_held(true); awake[me] = true; forget() }
#endif

inline finish() {
  /* Every import is in one slot: the local redistribution brings those that are misplaced home. */
  peer = 0;
  do
  :: peer < P ->
    i = 0;
    do
    :: i < blocks[pair(peer, me)] ->
      count = 0;
      n = 0;
      do
      :: n < slots[me] ->
        count = count + (!is_free[at(n)] && content[at(n)] == block(peer, me, i) -> 1 : 0);
        n++
      :: else -> break
      od;
      assert(count == 1);
      i++
    :: else -> break
    od;
    assert(empty(posted[pair(peer, me)]));
    peer++
  :: else -> break
  od
}

/* ---- Planning ---- */

bool is_taken[SLOTS];

inline plan_rank() {
  slots[me] = (imports[me] > exports[me] -> imports[me] : exports[me]);
  d_step {
    n = 0;
    i = 1;
    do
    :: i < P ->
      peer = rank_after(i);
      j = 0;
      do
      :: j < blocks[pair(me, peer)] -> stands(me, peer, j, n); n++; j++
      :: else -> break
      od;
      i++
    :: else -> break
    od;
    do
    :: n < slots[me] -> is_free[at(n)] = true; free_slots[me]++; n++
    :: else -> break
    od
  };
#ifndef ANY_SLOTS
  if
  :: imports[me] > 0 -> select(count : 0 .. slots[me] - 1)
  :: else
  fi;
#endif
  peer = 0;
  do
  :: peer < P ->
    j = 0;
    do
    :: j < blocks[pair(peer, me)] ->
#ifdef ANY_SLOTS
      n = 0;
      do
      :: n < slots[me] && !is_taken[n] -> break
      :: n < slots[me] -> n++
      :: else -> goto end_skipped
      od;
      is_taken[n] = true;
#else
      n = count % slots[me];
      count++;
#endif
      final_of(peer, j) = n;
      j++
    :: else -> break
    od;
    peer++
  :: else -> break
  od;
  n = 0;
  do
  :: n < SLOTS -> is_taken[n] = false; n++
  :: else -> break
  od;
  forget()
}

#include "ranks.pml"
