/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What else goes on in a storm: a user who may only look leaves connections idle, answers unread
 * and garbage behind; and children of the primary that do not exec keep every descriptor that it
 * had when they were forked.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/domain.h"
#include "family.h"
#include "primary/server.h"
#include "storm.h"

#define STRANGER 60000
/* More than a user may have. */
#define CONNECTIONS 48
#define PAUSE_US 500

/* ---- the part that looks on -------------------------------------------------------------------
 */

static int connections[CONNECTIONS];
static struct trip_random random_state;
/* Of a counter, once one has been found. */
static uint64_t bait;

static void
hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
connect_one(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(address.sun_path, family_socket());
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		hang_up(&fd);
	return fd;
}

static void
ask(int fd, unsigned int type, const void *request, size_t size)
{
	struct {
		struct trip_protocol_head head;
		union trip_protocol_request request;
	} message = {.head = {.magic = TRIP_PROTOCOL_MAGIC,
			     .version = TRIP_PROTOCOL_VERSION,
			     .type = (uint16_t)type,
			     .size = (uint32_t)(sizeof(struct trip_protocol_head) + size)}};

	memcpy(&message.request, request, size);
	(void)send(fd, &message, message.head.size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Descriptors that come along are not taken. */
static void
take(int fd)
{
	static struct trip_protocol_reply reply;

	if (recv(fd, &reply, sizeof(reply), MSG_DONTWAIT) > 0 && reply.head.error == 0 &&
		reply.head.type == TRIP_PROTOCOL_FIND)
		bait = reply.answer.cntr.id;
}

static void
disturb(int *fd)
{
	const struct trip_protocol_find find = {.name = "tick"};
	const struct trip_protocol_read watch = {.cntr = bait};

	if (*fd < 0) {
		*fd = connect_one();
		return;
	}
	switch (trip_random_below(&random_state, 8)) {
	case 0:
	case 1:
		ask(*fd, TRIP_PROTOCOL_FIND, &find, sizeof(find));
		break;
	case 2:
	case 3:
		ask(*fd, TRIP_PROTOCOL_WATCH, &watch, sizeof(watch));
		break;
	case 4:
		(void)send(*fd, &bait, sizeof(bait), MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 5:
		hang_up(fd);
		break;
	default:
		take(*fd);
	}
}

/* It goes on, or is told to end. */
static bool
obey(void)
{
	struct pollfd told = {.fd = FAMILY_HEARD, .events = POLLIN};

	if (poll(&told, 1, 0) == 0)
		return true;
	if (family_listen() != 'r')
		return false;
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		hang_up(&connections[i]);
	family_say('r');
	return family_listen() == 'g';
}

void
storm_play_stranger(const char *seed)
{
	random_state.state = strtoull(seed, NULL, 0);
	family_find_socket();
	if (geteuid() == 0)
		assert_int_equal(syscall(SYS_setresuid, STRANGER, STRANGER, STRANGER), 0);
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		connections[i] = -1;
	while (obey()) {
		disturb(&connections[trip_random_below(&random_state, CONNECTIONS)]);
		usleep(PAUSE_US);
	}
}

/* ---- in the primary ---------------------------------------------------------------------------
 */

static struct family_child stranger;
/* Connections that are not its own. */
static unsigned int others;
static pid_t idler;

/* Those that end leave the list, and are closed, under the lock. */
static unsigned int
count_connections(void)
{
	unsigned int n = 0;

	pthread_mutex_lock(&family_domain->lock);
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		n += family_domain->server->connections[i] != NULL;
	pthread_mutex_unlock(&family_domain->lock);
	return n;
}

/* Connections are accepted in their order: those that it has ended were, when the last is served;
 * and then only those are left that were there before it. */
void
storm_rest(void)
{
	struct trip_client *last;

	family_tell(&stranger, 'r');
	assert_int_equal(family_hear(&stranger), 'r');
	if (trip_client_open(family_socket(), &last) != 0)
		fail_msg("%s", trip_error_message());
	trip_client_close(last);
	family_until(count_connections() == others);
}

void
storm_go_on(void)
{
	family_tell(&stranger, 'g');
}

void
storm_open_others(uint64_t seed)
{
	char arg[32];

	others = count_connections();
	snprintf(arg, sizeof(arg), "%" PRIu64, seed);
	stranger = family_start("stranger", 6, arg);
	storm_rest();
}

static void
end_idler(void)
{
	if (idler == 0)
		return;
	assert_int_equal(kill(idler, SIGKILL), 0);
	assert_int_equal(waitpid(idler, NULL, 0), idler);
	idler = 0;
}

void
storm_close_others(void)
{
	end_idler();
	family_tell(&stranger, 'e');
	family_join(&stranger);
}

void
storm_fork(void)
{
	end_idler();
	idler = fork();
	assert_true(idler >= 0);
	if (idler != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}
