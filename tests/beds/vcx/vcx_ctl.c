/* SPDX-License-Identifier: BSD-3-Clause */
/* vcx-ctl: the calls of vcx.h from a shell, for the device of a program that runs under vcx-run. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vcx.h"

static const char usage[] =
	"usage: vcx-ctl [--dir DIR] [--port N] COMMAND [ARGUMENT ...]\n"
	"\n"
	"Drives a virtual ConnectX; DIR is what scripts/vcx-run --dir said, or $VCX_DIR.\n"
	"\n"
	"  stats                          packets, rules, counters, and the commands of the "
	"driver\n"
	"  udp TO [COUNT [FLOWS [BYTES]]] packets to UDP port TO, in FLOWS source ports, waiting "
	"for room\n"
	"  hex BYTES [COUNT]              a packet in hexadecimal\n"
	"  pcap FILE                      the packets of a capture (classic format, Ethernet)\n"
	"  latency KIND MICROSECONDS      each command of that kind takes longer\n"
	"  fail KIND AFTER TIMES ERRNO    the TIMES commands after AFTER more fail\n"
	"  counters N                     there are no more than N counters (0: no limit)\n"
	"  hold | release                 counters stand still, or go on\n"
	"  remove                         the card is pulled\n"
	"  tx drop | capture | loop | wire\n"
	"  read                           takes a captured packet, in hexadecimal\n"
	"  ifname                         the port's kernel interface\n"
	"\n"
	"KIND is one of rule-create, rule-destroy, counter-create, counter-destroy, query, "
	"query-bulk,\n"
	"queue-create, queue-destroy.\n";

static const char *const kinds[VCX_COMMANDS] = {"rule-create", "rule-destroy", "counter-create",
	"counter-destroy", "query", "query-bulk", "queue-create", "queue-destroy"};
static const char *const modes[] = {"drop", "capture", "loop", "wire"};
static unsigned port;

_Noreturn static void
wrong(const char *what)
{
	fprintf(stderr, "vcx-ctl: %s\n%s", what, usage);
	exit(2);
}

static uint64_t
number(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
		wrong("that is no number");
	return value;
}

static unsigned
one_of(const char *const *names, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	wrong(name);
}

static void
print_injected(const struct vcx_injected *to)
{
	printf("delivered %" PRIu64 " dropped %" PRIu64 " unmatched %" PRIu64 " no_buffer %" PRIu64
	       "\n",
		to->delivered, to->dropped, to->unmatched, to->no_buffer);
}

static void
add(struct vcx_injected *sum, const struct vcx_injected *one)
{
	sum->delivered += one->delivered;
	sum->dropped += one->dropped;
	sum->unmatched += one->unmatched;
	sum->no_buffer += one->no_buffer;
}

/* Prints what became of the packets also where the last of them could not be injected. */
static int
inject_udp(char **argument, int arguments)
{
	uint64_t count = arguments > 1 ? number(argument[1]) : 1;
	uint64_t flows = arguments > 2 ? number(argument[2]) : 1;
	uint64_t bytes = arguments > 3 ? number(argument[3]) : 64;
	uint16_t to = htons((uint16_t)number(argument[0])), length = htons((uint16_t)(bytes - 14));
	uint8_t packet[VCX_FRAME_MAX] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0xee, 8, 0,
		0x45, [22] = 64, 17, [26] = 10, 0, 0, 1, 10, 0, 0, 2};
	struct vcx_injected sum = {.delivered = 0}, one = {.delivered = 0};
	int error = 0;

	if (bytes < 42 || bytes > 1514 || flows == 0 || flows > 65536)
		wrong("a packet has 42 to 1514 bytes, and there are 1 to 65536 flows");
	memcpy(packet + 16, &length, 2);
	memcpy(packet + 36, &to, 2);
	length = htons((uint16_t)(bytes - 34));
	memcpy(packet + 38, &length, 2);
	for (uint64_t i = 0; i < flows && error == 0; i++) {
		uint64_t times = count / flows + (i < count % flows);
		uint16_t from = htons((uint16_t)i);

		memcpy(packet + 34, &from, 2);
		if (times > 0 && (error = vcx_inject(port, packet, bytes, times, true, &one)) == 0)
			add(&sum, &one);
	}
	print_injected(&sum);
	return error;
}

static int
inject_hex(char **argument, int arguments)
{
	uint8_t packet[VCX_FRAME_MAX];
	struct vcx_injected to;
	size_t length = 0;
	int error;

	for (const char *at = argument[0]; *at != '\0'; at += 2) {
		unsigned byte;
		int used = 0;

		if (length == sizeof(packet) || sscanf(at, "%2x%n", &byte, &used) != 1 || used != 2)
			wrong("that is no packet");
		packet[length++] = (uint8_t)byte;
	}
	error = vcx_inject(
		port, packet, length, arguments > 1 ? number(argument[1]) : 1, true, &to);
	if (error == 0)
		print_injected(&to);
	return error;
}

/* A classic capture in either byte order; both magic numbers of its time stamps. */
static int
inject_pcap(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct vcx_injected sum = {.delivered = 0}, one;
	uint8_t packet[VCX_FRAME_MAX];
	uint32_t header[6], record[4];
	bool swapped;
	int error = -EINVAL;

	if (file == NULL)
		return -errno;
	if (fread(header, sizeof(header), 1, file) == 1) {
		swapped = header[0] == 0xd4c3b2a1 || header[0] == 0x4d3cb2a1;
		error = swapped || header[0] == 0xa1b2c3d4 || header[0] == 0xa1b23c4d ? 0 : -EINVAL;
	}
	while (error == 0 && fread(record, sizeof(record), 1, file) == 1) {
		uint32_t length = swapped ? __builtin_bswap32(record[2]) : record[2];

		if (length > sizeof(packet) || fread(packet, 1, length, file) != length)
			error = -EINVAL;
		else if ((error = vcx_inject(port, packet, length, 1, true, &one)) == 0)
			add(&sum, &one);
	}
	fclose(file);
	print_injected(&sum);
	return error;
}

static int
print_stats(void)
{
	struct vcx_stats stats;
	int error = vcx_stats(port, &stats);

	if (error != 0)
		return error;
	print_injected(&stats.rx);
	printf("sent %" PRIu64 " bytes %" PRIu64 "\nrules %" PRIu64 " counters %" PRIu64 "\n",
		stats.tx_packets, stats.tx_bytes, stats.rules, stats.counters);
	for (unsigned i = 0; i < VCX_COMMANDS; i++)
		printf("%s %" PRIu64 "\n", kinds[i], stats.commands[i]);
	return 0;
}

static int
print_captured(void)
{
	uint8_t packet[VCX_FRAME_MAX];
	size_t length = sizeof(packet);
	int error = vcx_tx_read(port, packet, &length);

	for (size_t i = 0; error == 0 && i < length; i++)
		printf("%02x", packet[i]);
	if (error == 0)
		printf("\n");
	return error;
}

static int
print_ifname(void)
{
	char name[64];
	int error = vcx_ifname(port, name, sizeof(name));

	if (error == 0)
		printf("%s\n", name);
	return error;
}

static int
run(const char *command, char **argument, int arguments)
{
	if (strcmp(command, "stats") == 0)
		return print_stats();
	if (strcmp(command, "udp") == 0 && arguments >= 1)
		return inject_udp(argument, arguments);
	if (strcmp(command, "hex") == 0 && arguments >= 1)
		return inject_hex(argument, arguments);
	if (strcmp(command, "pcap") == 0 && arguments == 1)
		return inject_pcap(argument[0]);
	if (strcmp(command, "latency") == 0 && arguments == 2)
		return vcx_latency(
			port, one_of(kinds, VCX_COMMANDS, argument[0]), number(argument[1]));
	if (strcmp(command, "fail") == 0 && arguments == 4)
		return vcx_fail(port, one_of(kinds, VCX_COMMANDS, argument[0]), number(argument[1]),
			number(argument[2]), (int)number(argument[3]));
	if (strcmp(command, "counters") == 0 && arguments == 1)
		return vcx_counter_limit(port, number(argument[0]));
	if (strcmp(command, "hold") == 0 || strcmp(command, "release") == 0)
		return vcx_hold(port, command[0] == 'h');
	if (strcmp(command, "remove") == 0)
		return vcx_remove(port);
	if (strcmp(command, "tx") == 0 && arguments == 1)
		return vcx_tx_mode(port, one_of(modes, 4, argument[0]));
	if (strcmp(command, "read") == 0)
		return print_captured();
	if (strcmp(command, "ifname") == 0)
		return print_ifname();
	wrong(command);
}

int
main(int argc, char **argv)
{
	int at = 1, error;

	for (; at < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--help") == 0)
			return fputs(usage, stdout) < 0;
		if (at + 1 == argc)
			wrong(argv[at]);
		if (strcmp(argv[at], "--dir") == 0)
			setenv("VCX_DIR", argv[at + 1], 1);
		else if (strcmp(argv[at], "--port") == 0)
			port = (unsigned)number(argv[at + 1]);
		else
			wrong(argv[at]);
	}
	if (at >= argc)
		wrong("what shall it do?");
	error = run(argv[at], argv + at + 1, argc - at - 1);
	if (error != 0)
		fprintf(stderr, "vcx-ctl: %s: %s\n", argv[at], strerror(-error));
	return error != 0;
}
