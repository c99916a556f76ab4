/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poll() and epoll. As Linux has it, epoll waits for a file and a number of it; what it waits for
 * is forgotten when nobody has the file open any more, not when its own process has closed it.
 */
#include <string.h>
#include <sys/epoll.h>

#include "sim_machine_inside.h"

#define ENTRIES 64

struct entry {
	/* NULL: unused. */
	struct sim_file *file;
	int fd;
	struct epoll_event event;
	/* By edges: it has changed since it was reported. */
	bool changed;
	/* When it came into the list of those to be looked at, 0: it is not in there. The first of
	 * these that is ready is reported, and is then the last. */
	uint64_t since;
};

struct sim_epoll {
	struct entry entries[ENTRIES];
	uint64_t last;
};

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __real_epoll_ctl(int epoll, int command, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int command, int fd, struct epoll_event *event);
int __real_epoll_wait(int epoll, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int ms);
int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);

/* Moments are 0 where there is none. */
static uint64_t
moment_in(int ms)
{
	return ms < 0 ? 0 : sim_now() + (uint64_t)ms * 1000000;
}

static uint32_t
events_of(const struct entry *entry)
{
	uint32_t wanted = entry->event.events | POLLERR | POLLHUP;

	if (entry->file == NULL || ((entry->event.events & EPOLLET) != 0 && !entry->changed))
		return 0;
	return (uint32_t)(uint16_t)entry->file->kind->ready(entry->file) & wanted;
}

static struct entry *
find_ready(struct sim_epoll *epoll)
{
	struct entry *first = NULL;

	for (unsigned int i = 0; i < ENTRIES; i++) {
		struct entry *entry = &epoll->entries[i];

		if (events_of(entry) != 0 && (first == NULL || entry->since < first->since))
			first = entry;
	}
	return first;
}

static void
list(struct sim_epoll *epoll, struct entry *entry)
{
	entry->changed = true;
	if (entry->since == 0)
		entry->since = ++epoll->last;
}

/* NULL: none is. Those that it has looked at in vain leave the list. */
static struct entry *
take_ready(struct sim_epoll *epoll)
{
	struct entry *first = find_ready(epoll);

	for (unsigned int i = 0; i < ENTRIES; i++)
		if (first == NULL || epoll->entries[i].since < first->since)
			epoll->entries[i].since = 0;
	if (first != NULL)
		first->since = ++epoll->last;
	return first;
}

static short
epoll_ready(const struct sim_file *file)
{
	return find_ready(file->epoll) != NULL ? POLLIN : 0;
}

const struct sim_file_kind sim_epoll_kind = {.name = "epoll", .ready = epoll_ready};

void
sim_epoll_gone(struct sim_file *gone)
{
	for (struct sim_file *file = machine.files; file != NULL; file = file->next)
		for (unsigned int i = 0; file->epoll != NULL && i < ENTRIES; i++)
			if (file->epoll->entries[i].file == gone)
				file->epoll->entries[i].file = NULL;
}

void
sim_epoll_changed(const struct sim_file *changed)
{
	for (struct sim_file *file = machine.files; file != NULL; file = file->next)
		for (unsigned int i = 0; file->epoll != NULL && i < ENTRIES; i++)
			if (file->epoll->entries[i].file == changed)
				list(file->epoll, &file->epoll->entries[i]);
}

const char *
sim_epoll_is_wrong(const struct sim_process *process)
{
	static char why[96];

	for (unsigned int fd = 0; fd < SIM_FILES; fd++) {
		const struct sim_file *file = process->fds[fd].file;

		for (unsigned int i = 0; file != NULL && file->epoll != NULL && i < ENTRIES; i++) {
			const struct entry *entry = &file->epoll->entries[i];

			if (entry->file == NULL || sim_fd_of(process, entry->fd) == entry->file)
				continue;
			snprintf(why, sizeof(why), "%s waits for a %s that it has closed",
				process->name, entry->file->kind->name);
			return why;
		}
	}
	return NULL;
}

int
__wrap_epoll_create1(int flags)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_epoll_create1(flags);
	sim_call(&machine.word, "epoll_create1", 0);
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	file = sim_file_make(&sim_epoll_kind);
	file->epoll = calloc(1, sizeof(*file->epoll));
	if (file->epoll == NULL)
		abort();
	return sim_fd_open(file, (flags & EPOLL_CLOEXEC) != 0);
}

static struct entry *
find_entry(struct sim_epoll *epoll, const struct sim_file *file, int fd)
{
	for (unsigned int i = 0; i < ENTRIES; i++)
		if (epoll->entries[i].file == file && (file == NULL || epoll->entries[i].fd == fd))
			return &epoll->entries[i];
	return NULL;
}

static int
add(struct sim_epoll *epoll, struct sim_file *file, int fd, const struct epoll_event *event)
{
	struct entry *entry = find_entry(epoll, NULL, 0);

	if (find_entry(epoll, file, fd) != NULL)
		return sim_refuse(EEXIST);
	sim_expect(entry != NULL, "more files are waited for than there is room for");
	*entry = (struct entry){.file = file, .fd = fd, .event = *event};
	list(epoll, entry);
	return 0;
}

int
__wrap_epoll_ctl(int fd, int command, int of, struct epoll_event *event)
{
	struct sim_epoll *epoll;
	struct sim_file *file;
	struct entry *entry;
	int result = 0;

	if (sim_process_self() == NULL)
		return __real_epoll_ctl(fd, command, of, event);
	epoll = sim_fd_enter(fd, "epoll_ctl")->epoll;
	file = sim_fd_of(sim_process_self(), of);
	sim_expect(file != NULL, "%s calls epoll_ctl() of descriptor %d, which is not open",
		sim_process_self()->name, of);
	entry = find_entry(epoll, file, of);
	if (command == EPOLL_CTL_ADD) {
		result = add(epoll, file, of, event);
	} else if (entry == NULL) {
		result = sim_refuse(ENOENT);
	} else if (command == EPOLL_CTL_DEL) {
		entry->file = NULL;
	} else {
		entry->event = *event;
		list(epoll, entry);
	}
	sim_changed();
	return result;
}

static bool
is_ready(void *arg)
{
	return find_ready(arg) != NULL;
}

int
__wrap_epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
	struct sim_epoll *epoll;
	struct sim_file *file;
	struct entry *entry;
	bool ends;

	if (sim_process_self() == NULL)
		return __real_epoll_wait(fd, events, most, ms);
	file = sim_fd_enter(fd, "epoll_wait");
	epoll = file->epoll;
	sim_file_keep(file);
	ends = sim_wait_ends(is_ready, epoll, moment_in(ms));
	sim_file_keep_none(sim_self());
	if (ends)
		return sim_refuse(EINTR);
	sim_op("looks what is ready");
	entry = take_ready(epoll);
	if (entry == NULL)
		return 0;
	sim_tell("finds %s %d", entry->file->kind->name, entry->fd);
	/* A child has it open; the process would be told of it for ever. */
	sim_expect(sim_fd_of(sim_process_self(), entry->fd) == entry->file,
		"%s is told of a %s that it has closed", sim_process_self()->name,
		entry->file->kind->name);
	events[0] = (struct epoll_event){.events = events_of(entry), .data = entry->event.data};
	entry->changed = false;
	return 1;
}

/* --- poll --- */

struct polled {
	struct pollfd *fds;
	struct sim_file *files[SIM_HELD];
	nfds_t n;
};

/* How many are ready. */
static int
look(const struct polled *polled)
{
	int n = 0;

	for (nfds_t i = 0; i < polled->n; i++) {
		short wanted = polled->fds[i].events | POLLERR | POLLHUP;
		const struct sim_file *file = polled->files[i];

		polled->fds[i].revents = file != NULL ? file->kind->ready(file) & wanted : 0;
		n += polled->fds[i].revents != 0;
	}
	return n;
}

static bool
any_is_ready(void *arg)
{
	return look(arg) > 0;
}

int
__wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct polled polled = {.fds = fds, .n = n};
	bool ends = false;
	int found;

	if (sim_process_self() == NULL)
		return __real_poll(fds, n, ms);
	sim_expect(n <= SIM_HELD, "more files are polled than there is room for");
	/* A negative one is none. */
	for (nfds_t i = 0; i < n; i++) {
		if (fds[i].fd < 0)
			continue;
		polled.files[i] = sim_fd_enter(fds[i].fd, "poll");
		sim_file_keep(polled.files[i]);
	}
	/* The time that it has may be none. */
	if (ms != 0)
		ends = sim_wait_ends(any_is_ready, &polled, moment_in(ms));
	found = look(&polled);
	sim_file_keep_none(sim_self());
	return ends ? sim_refuse(EINTR) : found;
}
