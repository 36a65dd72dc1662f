/* SPDX-License-Identifier: Apache-2.0 */
/* Late calls: from atexit, from a destructor that runs after it, from a thread's own destructors, after fork. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static dlt_array_t kept;
static DLManagedTensorVersioned* kept_export;
static double value = 7;

static void use_everything(void) {
  DLDevice device;
  DLDataType dtype;
  const uintptr_t* shape;
  uintptr_t count;
  dlt_data_origin_t origin;
  dlt_array_t copy;
  WORKS(kept.device(kept.ptr, &device));
  WORKS(kept.dtype(kept.ptr, &dtype));
  WORKS(kept.shape(kept.ptr, &shape, &count));
  WORKS(kept.origin(kept.ptr, &origin));
  WORKS(kept.copy(kept.ptr, cpu, &copy));
  end_array(&copy);
  FAILS(kept.swap_axes(kept.ptr, 0, 1), "axes below 0");
  DLManagedTensorVersioned* t = export_of(kept);
  t->deleter(t);
}

static void late(void) {
  use_everything();
  kept_export->deleter(kept_export);
  end_array(&kept);
  if (check_failed || !check_made) _exit(1);
}

__attribute__((destructor)) static void later(void) {
  if (kept.ptr) late();
}

static void prepare(void) {
  kept = scalar_over(&value, f64);
  kept_export = export_of(kept);
  use_everything();
}

static pthread_key_t key;
static int deleted = 0;
static void count_deleted(void* data) { ++*(int*)data; }
static void at_thread_end(void* round) {
  /* Sets an error in each of the system's four rounds. Who is looked at first in the last one is chance. */
  dlt_set_last_error("while the thread ends", "test", &deleted, count_deleted);
  if ((uintptr_t)round < 4) pthread_setspecific(key, (char*)round + 1);
}
static void* ending(void* argument) {
  (void)argument;
  dlt_set_last_error("first", "test", &deleted, count_deleted);
  pthread_setspecific(key, (void*)1);
  return NULL;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "--list") == 0) {
    puts("atexit\ndestructor\nexit_in_thread\nthread_ends\nfork");
    return 0;
  }
  if (strcmp(mode, "atexit") == 0) {
    prepare();
    atexit(late);
    return check_failed;
  }
  if (strcmp(mode, "destructor") == 0) {
    prepare();
    return check_failed;
  }
  if (strcmp(mode, "exit_in_thread") == 0) {
    prepare();
    atexit(late);
    pthread_t thread;
    pthread_create(&thread, NULL, (void* (*)(void*))(void (*)(void))exit, NULL);
    pthread_join(thread, NULL);
    return 4;
  }
  if (strcmp(mode, "thread_ends") == 0) {
    pthread_key_create(&key, at_thread_end);
    for (int i = 0; i < 200; i++) {
      pthread_t thread;
      pthread_create(&thread, NULL, ending, NULL);
      pthread_join(thread, NULL);
    }
    CHECK(deleted >= 200 * 4 && deleted <= 200 * 5);
    return check_failed;
  }
  if (strcmp(mode, "fork") == 0) {
    prepare();
    for (int i = 0; i < 50; i++) {
      pid_t child = fork();
      if (child == 0) {
        alarm(10);
        use_everything();
        kept_export->deleter(kept_export);
        end_array(&kept);
        _exit(check_failed ? 1 : 0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return check_failed;
  }
  return 3;
}
