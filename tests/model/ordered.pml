/* SPDX-License-Identifier: BSD-3-Clause

   STREAM where blocks land in the order of grains (src/engine/ordered/*, src/plan/any_order.hpp,
   blocks_in_wait() in src/plan/any_order.cpp), for Spin.

   Checked for every transfer matrix of P ranks and flows of at most MOST blocks, and every choice
   of exports that leave holes: no rank is stuck, import k takes hole k, nothing is sent without a
   posted receive, and a waiting room of in_wait + ROOM blocks suffices on every rank.

   GRAIN   blocks of a grain
   ROOM    blocks of the waiting room beyond in_wait: the proof says that 1 suffices
   SHIFT   first imports that wait aside and land last, at most
   DIRECT  1: messages may go straight to slots
   ANY_HOLES  any choice of holes; else slots are the first ones, as full as can be
   PULLED  1: all blocks are taken by their receivers, 2: those of one rank are not (pulls.pml) */

#include "transport.pml"

#define NOWHERE 0
#define ARRIVED 1
#define ASIDE 100 /* and the place among those that wait aside */
#define IN_SLOT 120 /* and the hole */

/* Slots of a rank are numbered by hole; those of exports that leave none come behind. */
byte import_source[P * IMPORTS]; /* of import k, in the order of grains */
byte landing[P * IMPORTS];       /* the import of each hole */
byte in_wait[P], shift[P];
byte given[P];    /* imports that have been credited */
byte landed[P];   /* imports that have landed, or wait aside: in their order */
bool arrived[P * IMPORTS];
byte place[P * IMPORTS]; /* where import k waits */

/* The waiting room: a ring of memory (message_list.hpp). */
#define ROOMS (IMPORTS + ROOM)
#define room_blocks (in_wait[me] + ROOM)
byte room[P * ROOMS];
byte room_first[P], room_used[P];
#define room_next \
  (room_first[me] + room_used[me] < room_blocks -> \
   room_blocks - room_first[me] - room_used[me] : room_blocks - room_used[me])
byte aside[P * (SHIFT + 1)];
byte aside_landed[P];

#define import(k) (me * IMPORTS + (k))
#define next_source import_source[import(given[me])]
#define has_received_all (landed[me] == imports[me] && aside_landed[me] == shift[me])

/* ---- Landing ---- */

inline write(hole, value) {
  assert(is_free[at(hole)]);
  is_free[at(hole)] = false;
  free_slots[me]--;
  content[at(hole)] = value
}

inline land() {
  do
  :: landed[me] < imports[me] && arrived[import(landed[me])] ->
    if
    :: place[import(landed[me])] >= ASIDE -> landed[me]++
    :: else ->
      if
      :: is_free[at(landed[me] - shift[me])] ->
        n = me * ROOMS + place[import(landed[me])];
        write(landed[me] - shift[me], room[n]);
        room[n] = 0;
        room_used[me]--;
        room_first[me] = (room_used[me] == 0 -> 0 : (room_first[me] + 1) % room_blocks);
        place[import(landed[me])] = NOWHERE;
        landed[me]++;
        progress = true
      :: else -> break
      fi
    fi
  :: else -> break
  od;
  do
  :: landed[me] == imports[me] && aside_landed[me] < shift[me] &&
     is_free[at(imports[me] - shift[me] + aside_landed[me])] ->
    write(imports[me] - shift[me] + aside_landed[me], aside[me * (SHIFT + 1) + aside_landed[me]]);
    aside_landed[me]++;
    progress = true
  :: else -> break
  od
}

/* A block has come to where it was to wait, or to its hole. */
inline store(number, value) {
  if
  :: place[import(number)] >= IN_SLOT -> content[at(place[import(number)] - IN_SLOT)] = value
  :: place[import(number)] >= ASIDE && place[import(number)] < IN_SLOT ->
    aside[me * (SHIFT + 1) + place[import(number)] - ASIDE] = value
  :: else ->
    j = me * ROOMS + place[import(number)];
    assert(room[j] == 0);
    room[j] = value
  fi;
  arrived[import(number)] = true
}

/* A message has come: its blocks are where its receive was posted. */
inline receive(source) {
  posted[pair(source, me)] ? k, count;
  data[pair(source, me)] ? first, n;
  assert(count == n);
  i = 0;
  do
  :: i < count -> store(k + i, block(source, me, first + i)); i++
  :: else -> break
  od
}

/* ---- Crediting ---- */

/* Imports of the next message: of one flow, and not across a multiple of the message size. */
inline next_piece() {
  i = 0; /* blocks of that flow that have been credited */
  n = 0;
  do
  :: n < given[me] ->
    i = i + (import_source[import(n)] == next_source -> 1 : 0);
    n++
  :: else -> break
  od;
  n = 1;
  do
  :: given[me] + n < imports[me] && import_source[import(given[me] + n)] == next_source &&
     (i + n) % MESSAGE != 0 -> n++
  :: else -> break
  od;
  i = 0
}

#define at_most(bound) n = (n > (bound) -> (bound) : n)

#define next_is_pulled (given[me] < imports[me] && is_pulled(next_source, me))
#define next_hole (given[me] - shift[me] - room_used[me])

bool takes_less;
#if PULLED
#include "pulls.pml"
#else
#define holes_are_next (room_used[me] == 0)
#define lands_first true
#define is_left(hole) is_free[at(hole)]
#define ask() give(next_source, given[me], n); given[me] = given[me] + n
#define look() skip
#define is_pulling false
#define are_left false
#define waits_for_slots (DIRECT && shift[me] > 0)
#define may_take_less (expected[me] == 0 && sending[me] == 0)
#endif

#define credit_at(where) \
  i = 0; \
  do \
  :: i < n -> place[import(given[me] + i)] = where + i; i++ \
  :: else -> break \
  od; \
  ask()

inline credit_slots() {
  j = 0;
  do
  :: j < n && is_left(next_hole + j) -> j++
  :: else -> break
  od;
  if /* A run that is too short for a message of its own is not worth it: how short is open. */
  :: j > 0 -> found = true
  :: j < n && (j == 0 || !next_is_pulled)
  fi;
  if
  :: found ->
    found = false;
    n = j;
    j = 0;
    do
    :: j < n -> is_free[at(next_hole + j)] = false; free_slots[me]--; j++
    :: else -> break
    od;
    credit_at(IN_SLOT + next_hole)
  :: else
  fi;
  j = 0
}

inline credit_room() {
  at_most(room_blocks);
  if
  :: !takes_less && !next_is_pulled && room_blocks - room_used[me] < n
  :: else ->
    at_most(room_next);
    if
    :: n > 0 ->
#ifdef ROOM_IS_NOT_RESERVED
      j = room_first[me];
#else
      j = (room_first[me] + room_used[me]) % room_blocks;
#endif
      room_used[me] = room_used[me] + n;
      assert(room_used[me] <= room_blocks); /* memory */
      credit_at(j);
      j = 0
    :: else
    fi
  fi
}

#ifdef CREDITS_WITHOUT_LIMIT
#define may_ask true
#else
#define may_ask (len(posted[pair(next_source, me)]) < CREDITS_OF_A_PAIR)
#endif

inline give_credit() {
  if
  :: given[me] < imports[me] && may_give && may_ask ->
    next_piece();
    if
    :: given[me] < shift[me] ->
      at_most(shift[me] - given[me]);
      credit_at(ASIDE + given[me])
    :: given[me] >= shift[me] && (DIRECT || next_is_pulled) && holes_are_next -> credit_slots()
    :: else
    fi;
    if
    :: !progress && given[me] >= shift[me] && (!waits_for_slots || takes_less) ->
      next_piece();
      credit_room()
    :: next_is_pulled && !takes_less
    :: else
    fi
  :: else
  fi
}

inline advance() {
  do
  :: true ->
    progress = false;
    look();
    serve();
    stage_ahead();
    if
    :: lands_first -> land()
    :: else
    fi;
    takes_less = !progress && !are_left && may_take_less;
    n = progress;
    progress = false;
    count = n;
    give_credit();
    takes_less = false;
    if
    :: (!progress && count == 0) || is_pulling -> break
    :: else
    fi
  od
}

inline finish() {
  n = 0;
  do
  :: n < imports[me] ->
    assert(content[at(n)] == landing[me * IMPORTS + n]);
    n++
  :: else -> break
  od;
  assert(room_used[me] == 0);
  assert(empty(posted[pair(rank_after(1), me)]) && empty(posted[pair(rank_after(2), me)]))
}

/* ---- Planning ---- */

/* The key of a block's grain: the fraction of its flow in the grain's middle, then the distance. */
#define begin_of(k) ((k) - (k) % GRAIN)
#define end_of(k, total) (begin_of(k) + GRAIN < (total) -> begin_of(k) + GRAIN : (total))
#define twice_middle(k, total) (begin_of(k) + end_of(k, total))
#define before(k, total, distance, k2, total2, distance2) \
  (twice_middle(k, total) * (total2) < twice_middle(k2, total2) * (total) || \
   (twice_middle(k, total) * (total2) == twice_middle(k2, total2) * (total) && \
    (distance) < (distance2)))
#define distance(from, to) (((to) + P - (from)) % P)

byte passed[P];           /* blocks of each flow that are in order already */
byte export_rank[IMPORTS], export_block[IMPORTS];
byte holes_of[P];         /* of the exports of each flow, those that leave holes: the first */

/* Of the next block: both ends of a flow compute the same. */
#ifdef IMPORTS_FARTHEST_FIRST
bool farthest_first;
#define key_distance(is_import, other) \
  (is_import -> (farthest_first -> P - distance(other, me) : distance(other, me)) \
             : distance(me, other))
#elif defined(HOLES_FARTHEST_FIRST)
#define key_distance(is_import, other) \
  (is_import -> distance(other, me) : P - distance(me, other))
#else
#define key_distance(is_import, other) (is_import -> distance(other, me) : distance(me, other))
#endif

/* The next flow in order: sets `peer`, P when there is none. is_import: flows to `me`. */
#define flow(is_import, other) (is_import -> pair(other, me) : pair(me, other))
#define total_of(is_import, other) blocks[flow(is_import, other)]
inline next_in_order(is_import) {
  peer = P;
  j = 0;
  do
  :: j < P ->
    if
    :: j != me && passed[j] < total_of(is_import, j) ->
      if
      :: peer == P -> peer = j
      :: else ->
        if
        :: before(passed[j], total_of(is_import, j), key_distance(is_import, j),
                  passed[peer], total_of(is_import, peer), key_distance(is_import, peer)) ->
          peer = j
        :: else
        fi
      fi
    :: else
    fi;
    j++
  :: else -> break
  od
}

inline pass_none() {
  j = 0;
  do
  :: j < P -> passed[j] = 0; j++
  :: else -> break
  od
}

/* Exports in order: number their slots by hole, behind those that are free at first. */
inline order_exports() {
  pass_none();
  n = imports[me];      /* for those that leave no hole */
  first = imports[me];  /* less the holes of exports: the slots that are free at first */
  i = 0;
  do
  :: i < P -> first = first - holes_of[i]; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < first -> is_free[at(i)] = true; free_slots[me]++; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < exports[me] ->
    next_in_order(false);
    export_rank[i] = peer;
    export_block[i] = passed[peer];
    if
    :: passed[peer] < holes_of[peer] -> stands(me, peer, passed[peer], first); first++
    :: else -> stands(me, peer, passed[peer], n); n++
    fi;
    passed[peer]++;
    i++
  :: else -> break
  od
}

/* Imports in order; import k takes hole k, but for the shift. */
inline order_imports() {
  pass_none();
  i = 0;
  do
  :: i < imports[me] ->
    next_in_order(true);
    import_source[import(i)] = peer;
    landing[me * IMPORTS +
            (i < shift[me] -> imports[me] - shift[me] + i : i - shift[me])] =
      block(peer, me, passed[peer]);
    passed[peer]++;
    i++
  :: else -> break
  od
}

/* blocks_in_wait(): imports up to a grain less the holes that exports before it leave. */
inline count_in_wait() {
  pass_none();
  i = 0;
  do
  :: i < imports[me] ->
    peer = import_source[import(i)];
    /* Its grain: from import i on. */
    count = end_of(passed[peer], blocks[pair(peer, me)]) - passed[peer];
    /* Holes before it, and what leaves block for block with it. */
    n = shift[me];
    j = 0;
    do
    :: j < imports[me] && is_free[at(j)] -> n++; j++
    :: else -> break
    od;
    first = 0; /* blocks of the grain with the same key, */
    found = false;
    k = 0; /* and how many leave no hole */
    j = 0;
    do
    :: j < exports[me] ->
      if
      :: before(export_block[j], blocks[pair(me, export_rank[j])], distance(me, export_rank[j]),
                passed[peer], blocks[pair(peer, me)], distance(peer, me)) ->
        n = n + (export_block[j] < holes_of[export_rank[j]] -> 1 : 0)
      :: else ->
        if
        :: !before(passed[peer], blocks[pair(peer, me)], distance(peer, me), export_block[j],
                   blocks[pair(me, export_rank[j])], distance(me, export_rank[j])) ->
          first++;
          k = k + (export_block[j] < holes_of[export_rank[j]] -> 0 : 1)
        :: else
        fi
      fi;
      j++
    :: else -> break
    od;
    first = (first < count -> first : count);
    n = n + first - (first < k -> first : k);
    if
    :: i + count > n + in_wait[me] -> in_wait[me] = i + count - n
    :: else
    fi;
    passed[peer] = passed[peer] + count;
    /* A grain's imports come one after another. */
    i = i + count
  :: else -> break
  od;
  pass_none()
}

/* Which exports of each flow stand below the final count. */
inline choose_holes() {
  count = (imports[me] < exports[me] -> imports[me] : exports[me]);
  i = 0;
  do
  :: i < P ->
    n = (blocks[pair(me, i)] < count -> blocks[pair(me, i)] : count);
    select(j : 0 .. n);
    holes_of[i] = j;
    count = count - j;
    i++
  :: else -> break
  od
}

inline plan_rank() {
#if PULLED == 2
  if
  :: me == 0 -> select(ordinary : 0 .. P - 1)
  :: else
  fi;
#endif
  choose_holes();
#ifndef ANY_HOLES
  /* Slots are the first ones, and full: no hole is free at first but for want of exports. */
  if
  :: count > 0 -> goto end_skipped
  :: else
  fi;
#endif
  skip;
  d_step {
    order_exports();
    n = (imports[me] < exports[me] -> imports[me] : exports[me]);
    n = (n < SHIFT -> n : SHIFT);
    shift[me] = n;
#if PULLED
    free_at_first[me] = free_slots[me];
    is_patient[me] = true;
#endif
    i = 0;
    do
    :: i < imports[me] && is_free[at(i)] && shift[me] > 0 -> shift[me]--; i++
    :: else -> break
    od;
    order_imports();
    count_in_wait();
#ifdef IMPORTS_FARTHEST_FIRST
    farthest_first = true;
    order_imports();
    farthest_first = false;
#endif
    i = 0;
    do
    :: i < IMPORTS -> export_rank[i] = 0; export_block[i] = 0; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < P -> holes_of[i] = 0; i++
    :: else -> break
    od;
    forget()
  }
}

#if !PULLED
#define FORCE
#endif
#include "ranks.pml"
