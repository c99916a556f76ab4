/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory with store buffers: TSO, which is what x86 makes of C11 atomics.
 *
 *	plain, relaxed and release stores	PUT: into the thread's buffer, first in, first out
 *	read-modify-writes, seq_cst stores	wait for EMPTY, then go to memory in one step
 *	seq_cst fences				wait for EMPTY
 *	loads of any order			from memory, or OWN where the thread's own store of
 *						that place may be the youngest in its buffer
 *
 * drain() moves the oldest store of a buffer to memory, at any moment. So a fence that is dropped,
 * or a store that is too weak, lets something happen that could not before. The includer defines
 * MEM (places), THREADS, and DEPTH: the most stores that are in a buffer at once.
 */
byte mem[MEM];

typedef store_buffer {
	byte n;
	byte at[DEPTH];
	byte value[DEPTH]
}

store_buffer buffer[THREADS];

#define EMPTY(me) (buffer[me].n == 0)
#define YOUNGEST(me) (buffer[me].n - 1)
#define OWN(me, where) (!EMPTY(me) && buffer[me].at[YOUNGEST(me)] == (where) -> \
	buffer[me].value[YOUNGEST(me)] : mem[where])

/* Within a d_step: nobody sees whether several go into the buffer at once. */
inline PUT(me, where, what)
{
	assert(buffer[me].n < DEPTH);
	buffer[me].at[buffer[me].n] = where;
	buffer[me].value[buffer[me].n] = what;
	buffer[me].n++
}

proctype drain(byte me)
{
	byte i;

end_drain:
	do
	:: d_step {
		!EMPTY(me) ->
		mem[buffer[me].at[0]] = buffer[me].value[0];
		buffer[me].n--;
		i = 0;
		do
		:: i < buffer[me].n ->
			buffer[me].at[i] = buffer[me].at[i + 1];
			buffer[me].value[i] = buffer[me].value[i + 1];
			i++
		:: else -> break
		od;
		buffer[me].at[i] = 0;
		buffer[me].value[i] = 0;
		i = 0
	}
	od
}
