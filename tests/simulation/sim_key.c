/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads have under keys. No key is given twice; whoever ends has given all of it back. */
#include <pthread.h>

#include "sim_machine_inside.h"

#define KEYS 4

int __real_pthread_key_create(pthread_key_t *key, void (*end)(void *value));
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *value));
int __real_pthread_key_delete(pthread_key_t key);
int __wrap_pthread_key_delete(pthread_key_t key);
void *__real_pthread_getspecific(pthread_key_t key);
void *__wrap_pthread_getspecific(pthread_key_t key);
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

/* Of the actor that runs, as what is thread-local. */
static __attribute__((section("sim_thread"))) struct {
	pthread_key_t key;
	const void *value;
} values[KEYS];

static pthread_key_t last_key;

int
__wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *value))
{
	if (sim_process_self() == NULL)
		return __real_pthread_key_create(key, end);
	*key = ++last_key;
	return 0;
}

int
__wrap_pthread_key_delete(pthread_key_t key)
{
	return sim_process_self() == NULL ? __real_pthread_key_delete(key) : 0;
}

void *
__wrap_pthread_getspecific(pthread_key_t key)
{
	if (sim_process_self() == NULL)
		return __real_pthread_getspecific(key);
	for (unsigned int i = 0; i < KEYS; i++)
		if (values[i].value != NULL && values[i].key == key)
			return (void *)(uintptr_t)values[i].value;
	return NULL;
}

int
__wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	unsigned int at = KEYS;

	if (sim_process_self() == NULL)
		return __real_pthread_setspecific(key, value);
	for (unsigned int i = 0; i < KEYS; i++)
		if (values[i].value != NULL ? values[i].key == key : at == KEYS)
			at = i;
	sim_expect(at < KEYS, "a thread has more under keys than there is room for");
	values[at].key = key;
	values[at].value = value;
	return 0;
}
