/* SPDX-License-Identifier: BSD-3-Clause

   The credit transport (src/engine/credit_transport.hpp) and the source of blocks
   (src/engine/slots/slot_sender.*), for Spin. The sinks are in ordered.pml and slots.pml.

   A rank does what it can without waiting, advance(), and then waits for something to complete.
   Which request completes next, and how many are noted before it goes on, is open. A message that
   was sent may count as having left before or after it was received, as MPI likes it.

   Left out: memory shared on a node, and receives of one pair that are noted out of order.

   P         ranks
   MOST      blocks of a flow, at most
   TOTAL     blocks of all flows, at most
   MESSAGE   blocks of a message, at most
   SENDS     send buffers of MESSAGE blocks; 0: blocks are sent from where they are
   PULLED    flows without messages, see pulls.pml
   A mutant breaks one rule: -D<NAME OF THE MUTANT>. */

#define CREDITS_OF_A_PAIR 2
#define IMPORTS ((P - 1) * MOST) /* of a rank, at most */
#define SLOTS (2 * IMPORTS)

#define pair(from, to) ((from) * P + (to))
#define rank_after(n) ((me + (n)) % P)
/* Block k of the flow from one rank to another; 0 is none. */
#define block(from, to, k) (1 + pair(from, to) * MOST + (k))
#define at(slot) (me * SLOTS + (slot))

/* Whether the receiver of a flow takes its blocks itself. */
#if PULLED == 0
#define is_pulled(from, to) false
#elif PULLED == 1
#define is_pulled(from, to) true
#else
#define is_pulled(from, to) ((from) != ordinary && (to) != ordinary)
byte ordinary; /* a rank whose memory nobody reaches */
#endif

byte blocks[P * P];              /* the transfer matrix */
byte imports[P], exports[P];     /* its sums */
byte export_slot[P * P * MOST];  /* where block k of a flow stands at first */
byte content[P * SLOTS];         /* blocks in slots */
bool is_free[P * SLOTS];         /* slots that may be written to, */
byte free_slots[P];              /* and how many */

chan credits[P * P] = [CREDITS_OF_A_PAIR + 1] of { byte };      /* blocks */
chan data[P * P] = [CREDITS_OF_A_PAIR + 1] of { byte, byte };   /* the first block, and how many */
chan posted[P * P] = [CREDITS_OF_A_PAIR + 1] of { byte, byte }; /* receives: where, how many */

bool awake[P];    /* something has completed since the last advance() */
byte expected[P]; /* messages on their way here */
byte sending[P];  /* messages on their way from here */

/* Scratch of atomic steps, which leave it as it was. */
bool progress, found;
byte i, j, k, n, peer, first, count;
inline forget() {
  progress = false; found = false; i = 0; j = 0; k = 0; n = 0; peer = 0; first = 0; count = 0
}

/* ---- The receiver's end ---- */

/* "Send me that": the receive is posted before the credit leaves. */
inline give(source, place, number) {
#ifdef CREDIT_BEFORE_RECEIVE
  late_source[me] = source + 1;
  late_place[me] = place;
  late_count[me] = number;
#else
  posted[pair(source, me)] ! place, number;
#endif
  assert(nfull(credits[pair(source, me)]));
  credits[pair(source, me)] ! number;
  expected[me]++;
  progress = true
}
#ifdef CREDIT_BEFORE_RECEIVE
byte late_source[P], late_place[P], late_count[P];
#define may_give (late_source[me] == 0)
#else
#define may_give true
#endif

/* ---- The sender's end ---- */

#define NOTHING 0
#define FROM_BUFFER 1 /* which holds more */
#define LAST_OF_BUFFER 2
#define IN_PLACE 3

byte staged[P * P];      /* blocks gathered or handed to MPI, from the front of the flow */
byte sent[P * P];        /* blocks handed to MPI */
byte leaving[P * P];     /* how the message that is on its way leaves */
byte in_message[P * P];  /* its blocks */
byte credit[P * P];      /* the oldest that is at hand, 0 for none */
byte next_credit[P * P];
byte idle[P];            /* send buffers */
byte waiting[P];         /* send buffers with blocks that wait for a credit */

inline credited(to, number) {
  if
  :: credit[pair(me, to)] == 0 -> credit[pair(me, to)] = number
  :: else ->
    assert(next_credit[pair(me, to)] == 0); /* most_credits_of_a_pair */
    next_credit[pair(me, to)] = number
  fi
}

#define slot_of(to, k) export_slot[pair(me, to) * MOST + (k)]

/* Blocks [begin, begin + number) of a flow have left their slots. */
inline release(to, begin, number) {
  j = 0;
  do
  :: j < number -> is_free[at(slot_of(to, begin + j))] = true; free_slots[me]++; j++
  :: else -> break
  od
}

#define is_staged(to) (staged[pair(me, to)] > sent[pair(me, to)])
/* Only one message is on its way to a rank at a time. */
#define may_answer(to) \
  (credit[pair(me, to)] > 0 && leaving[pair(me, to)] == NOTHING && \
   (is_staged(to) || idle[me] > 0 || (SENDS == 0 && MAY_SEND_IN_PLACE)))
#ifdef STAGES_IN_THE_SCRATCH
#define MAY_SEND_IN_PLACE (buffer_source[me * BUFFERS] == 0)
#else
#define MAY_SEND_IN_PLACE true
#endif

inline answer(to) {
  n = credit[pair(me, to)];
  if
  :: is_staged(to) ->
    /* A credit does not cross a multiple of the message size, so this buffer has all of it. */
    assert(sent[pair(me, to)] + n <= staged[pair(me, to)]);
    assert(sent[pair(me, to)] / MESSAGE == (sent[pair(me, to)] + n - 1) / MESSAGE);
    if
    :: sent[pair(me, to)] + n == staged[pair(me, to)] ||
       (sent[pair(me, to)] + n) % MESSAGE == 0 ->
      leaving[pair(me, to)] = LAST_OF_BUFFER;
      waiting[me]--
    :: else -> leaving[pair(me, to)] = FROM_BUFFER
    fi
  :: !is_staged(to) && SENDS == 0 ->
    staged[pair(me, to)] = staged[pair(me, to)] + n;
    leaving[pair(me, to)] = IN_PLACE;
#ifdef SLOT_FREE_WHILE_SENT
    release(to, sent[pair(me, to)], n)
#endif
  :: !is_staged(to) && SENDS > 0 ->
    assert(idle[me] > 0); /* memory */
    idle[me]--;
    staged[pair(me, to)] = staged[pair(me, to)] + n;
    leaving[pair(me, to)] = LAST_OF_BUFFER;
    release(to, sent[pair(me, to)], n)
  fi;
  /* No message is unexpected: a receive waits for it. */
  assert(len(posted[pair(me, to)]) > len(data[pair(me, to)]));
  data[pair(me, to)] ! sent[pair(me, to)], n;
  sent[pair(me, to)] = sent[pair(me, to)] + n;
  in_message[pair(me, to)] = n;
  sending[me]++;
  credit[pair(me, to)] = next_credit[pair(me, to)];
  next_credit[pair(me, to)] = 0;
  progress = true
}

/* Whoever is served first: the proofs need no order. */
inline serve() {
  do
  :: may_answer(rank_after(1)) -> peer = rank_after(1); answer(peer)
  :: may_answer(rank_after(2)) -> peer = rank_after(2); answer(peer)
#if P > 3
  :: may_answer(rank_after(3)) -> peer = rank_after(3); answer(peer)
#endif
  :: else -> break
  od
}

#ifdef ALL_BUFFERS_WAIT
#define KEPT 0
#else
#define KEPT 1 /* send buffers that never wait for a credit */
#endif
#define may_stage(to) \
  (staged[pair(me, to)] < blocks[pair(me, to)] && idle[me] > 0 && waiting[me] + KEPT < SENDS && \
   !is_pulled(me, to))

inline stage(to) {
  n = MESSAGE - staged[pair(me, to)] % MESSAGE;
  if
  :: n > blocks[pair(me, to)] - staged[pair(me, to)] ->
    n = blocks[pair(me, to)] - staged[pair(me, to)]
  :: else
  fi;
  idle[me]--;
  waiting[me]++;
  release(to, staged[pair(me, to)], n);
  staged[pair(me, to)] = staged[pair(me, to)] + n;
  progress = true
}

inline stage_ahead() {
  do
  :: may_stage(rank_after(1)) -> peer = rank_after(1); stage(peer)
  :: may_stage(rank_after(2)) -> peer = rank_after(2); stage(peer)
#if P > 3
  :: may_stage(rank_after(3)) -> peer = rank_after(3); stage(peer)
#endif
  :: else -> break
  od
}

/* The message on its way to a rank has left. */
inline has_left(to) {
  if
  :: leaving[pair(me, to)] == LAST_OF_BUFFER -> idle[me]++
  :: leaving[pair(me, to)] == IN_PLACE ->
    n = in_message[pair(me, to)];
    i = 0;
    do /* MPI has read from these slots until now */
    :: i < n ->
      first = sent[pair(me, to)] - n + i;
      assert(content[at(slot_of(to, first))] == block(me, to, first));
      i++
    :: else -> break
    od;
#ifndef SLOT_FREE_WHILE_SENT
    release(to, sent[pair(me, to)] - n, n)
#endif
  :: else
  fi;
  leaving[pair(me, to)] = NOTHING;
  in_message[pair(me, to)] = 0;
  sending[me]--
}

#ifdef ENDS_BEFORE_ALL_IS_TAKEN
#define has_sent(to) (sent[pair(me, to)] == blocks[pair(me, to)] || is_pulled(me, to))
#else
#define has_sent(to) (sent[pair(me, to)] == blocks[pair(me, to)])
#endif
#define has_sent_all \
  (sending[me] == 0 && has_sent(rank_after(1)) && has_sent(rank_after(2)) && \
   (P < 4 || has_sent(rank_after(3))))

/* Block k of a flow stands in a slot at first. */
inline stands(from, to, k, number) {
  export_slot[pair(from, to) * MOST + (k)] = number;
  content[from * SLOTS + number] = block(from, to, k)
}
