/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that knows the domain's socket and keeps to nothing: it says what no client would, in
 * messages that begin like one's, sends descriptors, asks without reading, and goes.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/protocol.h"
#include "primary/request.h"
#include "processes.h"

struct message {
	struct trip_protocol_head head;
	unsigned char body[512];
};

static int
connect_to_domain(void)
{
	const struct sockaddr_un address = {
		.sun_family = AF_UNIX, .sun_path = "/run/tripline/rte.trip.sock"};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* As the act says, so that the same is said when others do less. */
static size_t
make_message(const struct act *act, uint32_t nth, struct message *message)
{
	const struct trip_request *request;
	uint32_t seed = act->seed + nth;
	unsigned char *bytes = message->body;

	for (size_t i = 0; i < sizeof(message->body); i++)
		bytes[i] = (unsigned char)(seed % 3 == 0 ? 0 : (seed * 2654435761u + i) >> 13);
	message->head = (struct trip_protocol_head){
		.magic = TRIP_PROTOCOL_MAGIC - (seed % 16 == 7),
		.version = (uint16_t)(TRIP_PROTOCOL_VERSION + (seed % 16 == 8)),
		.type = (uint16_t)(seed / 16 % (TRIP_PROTOCOL_TYPES + 2)),
	};
	request = trip_request_of(message->head.type);
	message->head.size =
		(uint32_t)(sizeof(message->head) + (seed % 16 == 9) +
			   (request != NULL && request->size < sizeof(message->body) ? request->size
										     : 0));
	return seed % 16 == 10 ? seed % 8 : message->head.size;
}

/* False: it has not gone out. */
static bool
send_message(int fd, struct message *message, size_t size, bool sends_itself)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
			     .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec part = {message, size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	if (sends_itself) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
	}
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Or the end: one of the two comes. */
static void
read_answer(struct user *user, int fd)
{
	static struct trip_protocol_reply reply;

	processes_enter(user, "recv", 0);
	while (recv(fd, &reply, sizeof(reply), 0) < 0 && errno == EINTR)
		;
	processes_leave(user);
}

void
processes_be_hostile(struct user *user, const struct act *act)
{
	int fd;

	sim_op("connects, and says what it likes");
	user->hostile = true;
	fd = connect_to_domain();
	for (uint32_t i = 0; fd >= 0 && i < act->value; i++) {
		struct message message;
		size_t size = make_message(act, i, &message);

		bool sent = send_message(fd, &message, size, (act->seed + i) % 32 == 11);

		/* Now and then it does not read what it was told. */
		if (sent && (act->seed + i) % 5 != 0)
			read_answer(user, fd);
		if ((act->seed + i) % 7 == 0)
			sim_rest();
	}
	if (fd >= 0)
		close(fd);
	user->hostile = false;
}
