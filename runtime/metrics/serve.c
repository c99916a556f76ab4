/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text over HTTP, by libmicrohttpd: one thread for all connections, which no other thread of
 * the library waits for.
 *
 * Whoever keeps connections open keeps nobody else out: beyond CONNECTIONS, the one that has been
 * there longest ends for the next one. A scrape takes milliseconds, so that is none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <microhttpd.h>

#include <trip_metrics.h>

#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "metrics/listen.h"
#include "metrics/text.h"

#define CONNECTIONS 32u
/* Those that end are still counted for a moment. */
#define CONNECTIONS_MAX (2 * CONNECTIONS)
#define REQUEST_MAX ((size_t)16 << 10)
#define SILENT_S 10u

#define TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct connection {
	TAILQ_ENTRY(connection) next;
	int fd;
};

struct trip_metrics {
	struct trip_domain *domain;
	struct trip_metrics_attr attr;
	struct trip_listen at;
	struct MHD_Daemon *daemon;
	/* Of its thread: the oldest first. */
	TAILQ_HEAD(, connection) connections;
	uint32_t n_connections;
};

static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned int status, const char *type, size_t length,
	void *text, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(length, text, mode);
	enum MHD_Result result;

	if (response == NULL) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* A scraper that comes again opens another one. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result
refuse(struct MHD_Connection *connection, unsigned int status, const char *why)
{
	return answer(connection, status, "text/plain; charset=utf-8", strlen(why), (void *)why,
		MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result
serve(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *data, size_t *size, void **state)
{
	struct trip_metrics *metrics = arg;
	size_t length;
	char *text;

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET is answered\n");
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "/metrics is what there is\n");
	if (trip_metrics_text(metrics->domain, &metrics->attr, &text, &length) != 0)
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory\n");
	return answer(connection, MHD_HTTP_OK, TYPE, length, text, MHD_RESPMEM_MUST_FREE);
}

static void
begin_connection(struct trip_metrics *metrics, struct MHD_Connection *from, void **place)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct connection *connection = malloc(sizeof(*connection));

	*place = connection;
	if (connection == NULL)
		return;
	connection->fd = info->connect_fd;
	TAILQ_INSERT_TAIL(&metrics->connections, connection, next);
	/* It is found to have ended, and is taken out of the list then. */
	if (++metrics->n_connections > CONNECTIONS)
		shutdown(TAILQ_FIRST(&metrics->connections)->fd, SHUT_RDWR);
}

static void
note_connection(void *arg, struct MHD_Connection *connection, void **place,
	enum MHD_ConnectionNotificationCode code)
{
	struct trip_metrics *metrics = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		begin_connection(metrics, connection, place);
	} else if (*place != NULL) {
		TAILQ_REMOVE(&metrics->connections, (struct connection *)*place, next);
		metrics->n_connections--;
		free(*place);
		*place = NULL;
	}
}

static int
start(struct trip_metrics *metrics)
{
	int error = trip_listen_open(metrics->attr.listen, &metrics->at);

	if (error != 0)
		return error;
	metrics->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, serve,
		metrics, MHD_OPTION_LISTEN_SOCKET, metrics->at.fd, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, SILENT_S, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, metrics, MHD_OPTION_END);
	if (metrics->daemon != NULL)
		return 0;
	trip_listen_close(&metrics->at);
	return trip_error_set(EAGAIN, "metrics: libmicrohttpd does not start");
}

int
trip_metrics_open(
	struct trip_domain *domain, const struct trip_metrics_attr *attr, struct trip_metrics **out)
{
	struct trip_metrics_attr own;
	struct trip_metrics *metrics;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = trip_text_attr(attr, &own);
	if (error == 0 && own.listen == NULL)
		error = trip_error_set(EINVAL, "metrics: no address to listen on");
	if (error != 0)
		return error;
	metrics = calloc(1, sizeof(*metrics));
	if (metrics == NULL)
		return trip_error_set(ENOMEM, "metrics: no memory");
	metrics->domain = domain;
	metrics->attr = own;
	TAILQ_INIT(&metrics->connections);
	error = start(metrics);
	if (error != 0) {
		free(metrics);
		return error;
	}
	trip_fid_hold(&domain->fid);
	*out = metrics;
	return 0;
}

void
trip_metrics_close(struct trip_metrics *metrics)
{
	MHD_stop_daemon(metrics->daemon);
	trip_listen_close(&metrics->at);
	trip_fid_let_go(&metrics->domain->fid);
	free(metrics);
}
