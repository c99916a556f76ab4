/* SPDX-License-Identifier: BSD-3-Clause */
/* vcx_call(), and the socket through which another process makes it.
 *
 * The socket is of type SEQPACKET: each packet is one struct vcx_request with its data, and is
 * answered by one struct vcx_reply with its. A connection makes one call at a time; a thread serves
 * each, so that a patient injection delays nobody else. Requests are not trusted: lengths are
 * checked against what came, numbers against what exists. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "device.h"

static void
fill_stats(struct vcx_device *device, struct vcx_stats *stats)
{
	pthread_mutex_lock(&device->lock);
	stats->rx = device->rx;
	stats->tx_packets = device->tx_packets;
	stats->tx_bytes = device->tx_bytes;
	stats->rules = device->rule_count;
	stats->counters = device->counter_count;
	pthread_mutex_unlock(&device->lock);
	for (unsigned i = 0; i < VCX_COMMANDS; i++)
		stats->commands[i] = atomic_load(&device->behaviour[i].given);
}

static int
set_fail(struct vcx_device *device, const uint64_t arg[4])
{
	struct vcx_behaviour *behaviour = &device->behaviour[arg[0]];

	if (arg[2] > 0 && (arg[3] == 0 || arg[3] > 4095))
		return -EINVAL;
	pthread_mutex_lock(&device->lock);
	behaviour->fail_after = arg[1];
	behaviour->fail_times = arg[2];
	behaviour->fail_error = (int)arg[3];
	pthread_mutex_unlock(&device->lock);
	return 0;
}

static int
set_mode(struct vcx_device *device, uint64_t mode)
{
	if (mode > VCX_TX_WIRE || (mode == VCX_TX_WIRE && vcx_device_count < VCX_PORTS))
		return -EINVAL;
	pthread_mutex_lock(&device->lock);
	device->tx_mode = (enum vcx_tx_mode)mode;
	pthread_mutex_unlock(&device->lock);
	return 0;
}

static int
set_limit(struct vcx_device *device, uint64_t counters)
{
	pthread_mutex_lock(&device->lock);
	device->counter_limit = counters;
	pthread_mutex_unlock(&device->lock);
	return 0;
}

static int
inject(struct vcx_device *device, const struct vcx_request *request, struct vcx_reply *reply)
{
	struct vcx_injected to = {.delivered = 0};
	int result = vcx_wire_receive(
		device, request->data, request->length, request->arg[0], request->arg[1] != 0, &to);

	memcpy(reply->value, &to, sizeof(to));
	return result;
}

static int
read_captured(struct vcx_device *device, uint64_t room, struct vcx_reply *reply)
{
	size_t length = 0;
	int result = vcx_wire_captured(device,
		room < sizeof(reply->data) ? room : sizeof(reply->data), reply->data, &length);

	reply->length = (uint32_t)length;
	return result;
}

int
vcx_call(const struct vcx_request *request, struct vcx_reply *reply)
{
	const uint64_t *arg = request->arg;
	struct vcx_device *device;
	bool of_command = request->op == VCX_OP_LATENCY || request->op == VCX_OP_FAIL;

	reply->length = 0;
	if (request->port >= vcx_device_count)
		return -ENODEV;
	if (of_command && arg[0] >= VCX_COMMANDS)
		return -EINVAL;
	device = &vcx_devices[request->port];
	switch (request->op) {
	case VCX_OP_INJECT:
		return inject(device, request, reply);
	case VCX_OP_LATENCY:
		atomic_store(&device->behaviour[arg[0]].latency_us, arg[1]);
		return 0;
	case VCX_OP_FAIL:
		return set_fail(device, arg);
	case VCX_OP_LIMIT:
		return set_limit(device, arg[0]);
	case VCX_OP_HOLD:
		vcx_counter_hold(device, arg[0] != 0);
		return 0;
	case VCX_OP_REMOVE:
		if (atomic_load(&device->removed))
			return -ENODEV;
		vcx_device_fatal(device);
		return 0;
	case VCX_OP_STATS:
		fill_stats(device, (struct vcx_stats *)reply->value);
		return 0;
	case VCX_OP_TX_MODE:
		return set_mode(device, arg[0]);
	case VCX_OP_TX_FLUSH:
		reply->value[0] = vcx_wire_transmit(device);
		return 0;
	case VCX_OP_TX_READ:
		return read_captured(device, arg[0], reply);
	case VCX_OP_IFNAME:
		reply->length = (uint32_t)strlen(device->ifname);
		memcpy(reply->data, device->ifname, reply->length);
		return 0;
	default:
		return -EINVAL;
	}
}

/* ---- the socket --------------------------------------------------------------------------------
 */

static void
serve_one(int sock, struct vcx_request *request, struct vcx_reply *reply)
{
	size_t room = sizeof(*request) + VCX_DATA_MAX;
	ssize_t got;

	while ((got = recv(sock, request, room, MSG_TRUNC)) > 0) {
		size_t length = (size_t)got;

		memset(reply, 0, offsetof(struct vcx_reply, data));
		if (length > room || length < sizeof(*request) ||
			length - sizeof(*request) != request->length)
			reply->result = -EINVAL;
		else
			reply->result = vcx_call(request, reply);
		length = offsetof(struct vcx_reply, data) + reply->length;
		if (send(sock, reply, length, MSG_NOSIGNAL) != (ssize_t)length)
			break;
	}
}

static void *
serve(void *argument)
{
	int sock = (int)(intptr_t)argument;
	struct vcx_request *request = malloc(sizeof(*request) + VCX_DATA_MAX);
	struct vcx_reply *reply = malloc(sizeof(*reply));

	if (request != NULL && reply != NULL)
		serve_one(sock, request, reply);
	free(request);
	free(reply);
	close(sock);
	return NULL;
}

static bool
start_thread(void *(*function)(void *), int sock, const char *name)
{
	sigset_t all, before;
	pthread_t thread;
	bool good;

	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = pthread_create(&thread, NULL, function, (void *)(intptr_t)sock) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!good) {
		close(sock);
		return false;
	}
	pthread_setname_np(thread, name);
	pthread_detach(thread);
	return true;
}

static void *
accept_all(void *argument)
{
	int listening = (int)(intptr_t)argument;

	for (;;) {
		int sock = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

		if (sock >= 0)
			start_thread(serve, sock, "vcx-serve");
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
	close(listening);
	return NULL;
}

void
vcx_control_start(const char *directory)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/control", directory);
	unlink(address.sun_path);
	if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) != 0 ||
		listen(sock, 8) != 0 || !start_thread(accept_all, sock, "vcx-control"))
		fprintf(stderr, "vcx: no control socket: %s: %s\n", address.sun_path,
			strerror(errno));
}
