/* SPDX-License-Identifier: BSD-3-Clause */
/* The proxy's thread and its queue of jobs. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "domain/thread.h"
#include "primary/process.h"
#include "primary/proxy.h"
#include "primary/request.h"
#include "primary/server.h"

/* One of another process than the last, where there is any: who asks over many connections holds
 * up others by one request at a time. */
static struct trip_proxy_job *
next_job(const struct trip_proxy *proxy, const struct trip_process *last)
{
	struct trip_proxy_job *job;

	TAILQ_FOREACH (job, &proxy->waiting, next)
		if (job->process != last)
			return job;
	return TAILQ_FIRST(&proxy->waiting);
}

void
trip_proxy_finish(struct trip_proxy *proxy, struct trip_proxy_job *job)
{
	pthread_mutex_lock(&proxy->lock);
	TAILQ_INSERT_TAIL(&proxy->done, job, next);
	pthread_mutex_unlock(&proxy->lock);
	trip_thread_tell(proxy->told);
}

static void *
proxy_main(void *arg)
{
	const struct trip_process *last = NULL;
	struct trip_proxy *proxy = arg;
	struct trip_proxy_job *job;

	/* The application's functions are called by its own threads. */
	trip_progress_follow();
	pthread_mutex_lock(&proxy->lock);
	for (;;) {
		while ((job = next_job(proxy, last)) == NULL && !proxy->stop)
			pthread_cond_wait(&proxy->asked, &proxy->lock);
		if (job == NULL)
			break;
		last = job->process;
		TAILQ_REMOVE(&proxy->waiting, job, next);
		pthread_mutex_unlock(&proxy->lock);
		trip_proxy_run(job);
		trip_proxy_finish(proxy, job);
		pthread_mutex_lock(&proxy->lock);
	}
	pthread_mutex_unlock(&proxy->lock);
	return NULL;
}

struct trip_proxy_job *
trip_proxy_take(pthread_mutex_t *lock, struct trip_proxy_jobs *jobs)
{
	struct trip_proxy_job *job;

	pthread_mutex_lock(lock);
	job = TAILQ_FIRST(jobs);
	if (job != NULL)
		TAILQ_REMOVE(jobs, job, next);
	pthread_mutex_unlock(lock);
	return job;
}

/* Jobs are done; what is left of a process is looked at in every round of the control thread. */
static void
ready(void *owner)
{
	struct trip_server *server = owner;
	struct trip_proxy_job *job;
	uint64_t n;

	while (read(server->proxy.told, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	while ((job = trip_proxy_take(&server->proxy.lock, &server->proxy.done)) != NULL)
		if (job->connection != NULL)
			trip_connection_answered(job->connection);
		else
			job->process->cleaning = TRIP_PROCESS_CLEAN;
}

int
trip_proxy_start(struct trip_server *server)
{
	struct trip_proxy *proxy = &server->proxy;
	int error;

	if (proxy->started)
		return 0;
	proxy->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (proxy->told < 0)
		return trip_error_system(
			errno, "domain \"%s\": no descriptor for flow calls", server->domain->name);
	TAILQ_INIT(&proxy->waiting);
	TAILQ_INIT(&proxy->done);
	pthread_mutex_init(&proxy->lock, NULL);
	pthread_cond_init(&proxy->asked, NULL);
	server->proxied = (struct trip_server_source){.ready = ready, .owner = server};
	error = trip_server_poll(server, proxy->told, &server->proxied);
	if (error == 0)
		error = trip_thread_start(&proxy->thread, "trip-proxy", proxy_main, proxy);
	proxy->started = error == 0;
	if (proxy->started)
		return 0;
	pthread_cond_destroy(&proxy->asked);
	pthread_mutex_destroy(&proxy->lock);
	trip_server_close(server, &proxy->told);
	return error;
}

static void
hand_over(struct trip_proxy *proxy, struct trip_proxy_job *job)
{
	pthread_mutex_lock(&proxy->lock);
	TAILQ_INSERT_TAIL(&proxy->waiting, job, next);
	pthread_cond_signal(&proxy->asked);
	pthread_mutex_unlock(&proxy->lock);
}

int
trip_proxy_ask(struct trip_connection *connection, const union trip_protocol_request *request)
{
	int error = trip_proxy_start(connection->server);

	if (error != 0)
		return error;
	connection->job.connection = connection;
	connection->job.process = connection->process;
	connection->job.type = connection->type;
	connection->job.request = *request;
	connection->job.refused = 0;
	hand_over(&connection->server->proxy, &connection->job);
	return TRIP_REQUEST_LATER;
}

void
trip_proxy_undo(struct trip_connection *connection, int error)
{
	/* Descriptors are those of ports. */
	connection->job.request.port.close = 1;
	connection->job.refused = error;
	hand_over(&connection->server->proxy, &connection->job);
}

bool
trip_proxy_clean(struct trip_process *process)
{
	if (!process->server->proxy.started)
		return false;
	process->clean = (struct trip_proxy_job){.process = process};
	hand_over(&process->server->proxy, &process->clean);
	return true;
}

void
trip_proxy_stop(struct trip_server *server)
{
	struct trip_proxy *proxy = &server->proxy;

	if (!proxy->started)
		return;
	pthread_mutex_lock(&proxy->lock);
	proxy->stop = true;
	pthread_cond_signal(&proxy->asked);
	pthread_mutex_unlock(&proxy->lock);
	pthread_join(proxy->thread, NULL);
	ready(server);
	pthread_cond_destroy(&proxy->asked);
	pthread_mutex_destroy(&proxy->lock);
	trip_server_close(server, &proxy->told);
	proxy->started = false;
}
