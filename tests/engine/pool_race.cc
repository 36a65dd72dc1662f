// SPDX-License-Identifier: Apache-2.0
// Every way of using the pool at once, for ThreadSanitizer: each index exactly once, from every thread, also after a
// fork.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "native/cpu/runtime/thread_pool.h"

namespace {

struct Marks {
  std::vector<int> seen;  // plain, so that two threads at one index are a race
  bool nested;
};

void mark(void* context, int64_t index) {
  auto& marks = *static_cast<Marks*>(context);
  ++marks.seen[size_t(index)];
  if (marks.nested) {
    Marks inner{std::vector<int>(5), false};
    dlt::parallel(5, mark, &inner);
    for (int count : inner.seen) marks.seen[size_t(index)] += count - 1;
  }
}

void share(int jobs, bool nested) {
  for (int job = 0; job < jobs; ++job) {
    Marks marks{std::vector<int>(size_t(1 + job * 7 % 200)), nested};
    dlt::parallel(int64_t(marks.seen.size()), mark, &marks);
    for (int count : marks.seen)
      if (count != 1) {
        printf("an index was done %d times\n", count);
        exit(1);
      }
  }
}

// Do all other threads of this process sleep? Those that are starting still run, or are about to.
bool others_sleep() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    if (line.compare(line.rfind(')'), 3, ") S") != 0) return false;
  }
  return true;
}

}  // namespace

int main(int, char** arguments) {
  const int jobs = atoi(arguments[1]);
  dlt::set_num_threads(4);
  share(jobs, false);
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k) threads.emplace_back(share, jobs, k % 2 == 1);
  for (auto& thread : threads) thread.join();
  for (int count = 1; count <= 5; ++count) {
    dlt::set_num_threads(count);
    share(jobs / 10, true);
  }
  if (arguments[2] != nullptr) {  // ThreadSanitizer starts no threads in a forked child
    // A thread that is starting allocates. AddressSanitizer's allocator, unlike malloc, stays locked in a child that is forked
    // meanwhile.
    while (!others_sleep()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const pid_t child = fork();
    if (child == 0) {
      share(jobs, false);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    share(jobs, false);
  }
  puts("every index once");
}
