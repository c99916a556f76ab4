/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A section of the doorbell that has one leaf and one summary bit, as doorbell.h has it. The includer
 * defines the places LEAF(section) and SUMMARY(section).
 *
 * A look and the read-modify-write that may follow it are one step: a bit that is seen set and left
 * alone, or seen clear and set by fetch_or, is the same to everybody else as one step at the time of
 * the last access; and what the consumer sees set, nobody else clears.
 */
inline ring_leaf(me, section, bits)
{
	if
	:: (mem[LEAF(section)] & (bits)) != 0 /* R1 */
	:: d_step {
		(mem[LEAF(section)] & (bits)) == 0 && EMPTY(me) ->
		mem[LEAF(section)] = mem[LEAF(section)] | (bits)
	   }
	fi
}

inline ring_summary(me, section)
{
	if
	:: mem[SUMMARY(section)] != 0 /* R2 */
	:: d_step { mem[SUMMARY(section)] == 0 && EMPTY(me) -> mem[SUMMARY(section)] = 1 }
	fi
}

/* trip_doorbell_ring() */
inline ring(me, section, bits)
{
#ifndef NO_RING_FENCE
	EMPTY(me); /* R0 */
#endif
#ifdef NO_SUMMARY_AFTER_LEAF
	if
	:: (mem[LEAF(section)] & (bits)) != 0
	:: d_step {
		(mem[LEAF(section)] & (bits)) == 0 && EMPTY(me) ->
		mem[LEAF(section)] = mem[LEAF(section)] | (bits)
	   }
	   ring_summary(me, section)
	fi
#else
	ring_leaf(me, section, bits);
	ring_summary(me, section)
#endif
}

/* trip_doorbell_take() of all that is rung: into `rung`, 0 when nothing is. */
inline take(me, section)
{
	rung = 0;
	if
	:: mem[SUMMARY(section)] == 0
#ifdef NO_SUMMARY_FIRST
	:: mem[SUMMARY(section)] != 0 ->
		d_step { rung = mem[LEAF(section)]; mem[LEAF(section)] = 0 }
		mem[SUMMARY(section)] = 0
#else
	:: d_step { mem[SUMMARY(section)] != 0 && EMPTY(me) -> mem[SUMMARY(section)] = 0 } /* C1 */
	   d_step { rung = mem[LEAF(section)]; mem[LEAF(section)] = 0 }                    /* C2 */
#endif
	fi
}
