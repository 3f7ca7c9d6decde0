/*
 * What a process knows of itself and its machine: its number and user, its environment and limits,
 * and how it ends. Each host has its own, anew at each boot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

enum { PROCESS_FIRST = 1000 };

/* ---- the process ---- */

/* Whether it is a host that ends, and not the process, or a child that a host has forked. */
static bool is_of_host(void)
{
	return gy_sim_here != NULL && gy_sim_here->sim->process == __real_getpid();
}

/* What is to be called at the exit of the process is not: that goes on. */
void __wrap_exit(int status)
{
	if (!is_of_host()) {
		__real_exit(status);
	}
	gy_sim_streams_flush(gy_sim_host_here());
	gy_sim_trace(gy_sim_here->sim, gy_sim_host_here(), "exits with %d", status);
	gy_sim_task_exit();
}

void __wrap__exit(int status)
{
	if (!is_of_host()) {
		__real__exit(status);
	}
	gy_sim_trace(gy_sim_here->sim, gy_sim_host_here(), "exits at once with %d", status);
	gy_sim_task_exit();
}

void __wrap__Exit(int status)
{
	__wrap__exit(status);
}

pid_t __wrap_getpid(void)
{
	const struct gy_sim_host *host = gy_sim_host_here();

	return host == NULL ? __real_getpid()
			    : (pid_t)(PROCESS_FIRST + host->index * PROCESS_FIRST + host->life);
}

pid_t __wrap_gettid(void)
{
	return gy_sim_here == NULL ? __real_gettid() : __wrap_getpid() + (pid_t)gy_sim_here->number;
}

uid_t __wrap_geteuid(void)
{
	const struct gy_sim_host *host = gy_sim_host_here();

	if (gy_sim_here == NULL) {
		return __real_geteuid();
	}
	return host == NULL ? 0 : host->user;
}

/* The host is root's, who may be any user, and again root. */
int __wrap_seteuid(uid_t user)
{
	if (gy_sim_here == NULL) {
		return __real_seteuid(user);
	}
	gy_sim_host_here()->user = user;
	return 0;
}

/* ---- the environment ---- */

struct variable {
	struct gy_list of_host;
	char *value; /* behind the name */
	char name[];
};

static struct variable *find_variable(const struct gy_sim_host *host, const char *name)
{
	for (struct gy_list *item = host->environment.next; item != &host->environment;
	     item = item->next) {
		struct variable *variable = gy_container_of(item, struct variable, of_host);

		if (strcmp(variable->name, name) == 0) {
			return variable;
		}
	}
	return NULL;
}

static void drop_variable(struct variable *variable)
{
	gy_list_remove(&variable->of_host);
	gy_sim_put(variable);
}

void gy_sim_environment_fini(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->environment)) {
		drop_variable(gy_container_of(host->environment.next, struct variable, of_host));
	}
}

static int set_variable(const char *name, const char *value, bool replaces)
{
	struct gy_sim_host *host = gy_sim_host_here();
	struct variable *variable;

	if (name == NULL || name[0] == '\0' || strchr(name, '=') != NULL) {
		return -EINVAL;
	}
	variable = find_variable(host, name);
	if (variable != NULL && !replaces) {
		return 0;
	}
	if (variable != NULL) {
		drop_variable(variable);
	}
	if (value == NULL) {
		return 0;
	}
	variable =
		(struct variable *)gy_sim_get(sizeof(*variable) + strlen(name) + strlen(value) + 2);
	memcpy(variable->name, name, strlen(name) + 1);
	variable->value = variable->name + strlen(name) + 1;
	memcpy(variable->value, value, strlen(value) + 1);
	gy_list_append(&host->environment, &variable->of_host);
	return 0;
}

/* The engine of hosts is the one that is made of calls which the simulator has. */
char *__wrap_getenv(const char *name)
{
	static char engine[] = "epoll";
	const struct variable *variable;

	if (gy_sim_here == NULL) {
		return __real_getenv(name);
	}
	if (strcmp(name, "GYRE_ENGINE") == 0) {
		return engine;
	}
	variable = gy_sim_here->host == NULL ? NULL : find_variable(gy_sim_here->host, name);
	return variable == NULL ? NULL : variable->value;
}

int __wrap_setenv(const char *name, const char *value, int replaces)
{
	if (gy_sim_here == NULL) {
		return __real_setenv(name, value, replaces);
	}
	return gy_sim_result(set_variable(name, value, replaces != 0));
}

int __wrap_unsetenv(const char *name)
{
	if (gy_sim_here == NULL) {
		return __real_unsetenv(name);
	}
	return gy_sim_result(set_variable(name, NULL, true));
}

/* ---- limits ---- */

static void get_limit(int resource, struct rlimit *ret_limit)
{
	bool is_known = resource == RLIMIT_NOFILE;

	ret_limit->rlim_cur = is_known ? gy_sim_host_here()->descriptors_max : RLIM_INFINITY;
	ret_limit->rlim_max = is_known ? GY_SIM_DESCRIPTORS_MAX : RLIM_INFINITY;
}

int __wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *ret_limit)
{
	if (gy_sim_here == NULL) {
		return __real_getrlimit(resource, ret_limit);
	}
	get_limit((int)resource, ret_limit);
	return 0;
}

/* Only that of descriptors; what is open beyond it stays open. */
static int set_limit(int resource, const struct rlimit *limit)
{
	if (resource != RLIMIT_NOFILE) {
		return -EPERM;
	}
	if (limit->rlim_cur > limit->rlim_max || limit->rlim_max > GY_SIM_DESCRIPTORS_MAX) {
		return limit->rlim_cur > limit->rlim_max ? -EINVAL : -EPERM;
	}
	gy_sim_host_here()->descriptors_max = (uint32_t)limit->rlim_cur;
	return 0;
}

int __wrap_setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (gy_sim_here == NULL) {
		return __real_setrlimit(resource, limit);
	}
	return gy_sim_result(set_limit((int)resource, limit));
}

GY_SIM_WRAPPED_SAME(getrlimit64, getrlimit);
GY_SIM_WRAPPED_SAME(setrlimit64, setrlimit);

/* ---- the machine ---- */

int __wrap_uname(struct utsname *ret_name)
{
	if (gy_sim_here == NULL) {
		return __real_uname(ret_name);
	}
	*ret_name = (struct utsname){ .sysname = "Linux", .release = "6.18.0", .machine = "sim" };
	(void)snprintf(ret_name->nodename, sizeof(ret_name->nodename), "%s",
		       gy_sim_host_here()->name);
	return 0;
}

/* ---- the signal of gyre's watchdog ---- */

/*
 * The disposition of the watchdog's signal is the process's, in which a host is only a guest, and
 * its threads could not be interrupted anyway. So stalls of hosts are logged without it.
 */
int __wrap_gy_stall_signal_get(void)
{
	return gy_sim_here == NULL ? __real_gy_stall_signal_get() : 0;
}

void __wrap_gy_stall_signal_put(void)
{
	if (gy_sim_here == NULL) {
		__real_gy_stall_signal_put();
	}
}
