// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/meeting.hpp"

#include "base/diagnose.hpp"
#include "base/memory_reserve.hpp"
#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace valet::mpi {
namespace {

constexpr const char* remedy =
    "With Open MPI 4, start ompi-server --no-daemonize -r FILE before the jobs, and both mpirun "
    "with --ompi-server file:FILE; with Open MPI 5, start prte, and both mpirun with "
    "PRTEPROXY_USE_DVM=1 and --dvm; MPICH needs nothing, but has no ports where it is made with "
    "UCX";

/// The meeting as one job sees it.
struct Meeting {
  std::string name, folder;
  double timeout_seconds;

  [[nodiscard]] std::string path(const char* ending) const { return folder + "/" + name + ending; }
  [[nodiscard]] Diagnostic cannot(const char* what) const {
    return invalid("cannot ", what, " in the folder '", folder, "' (", std::strerror(errno),
                   "); name a folder that both jobs can write to");
  }
};

/// Looks again and again, soon at first.
class Polling {
 public:
  explicit Polling(double seconds) : end_(now() + seconds) {}
  /// Sleeps; false when the time is over.
  [[nodiscard]] bool again() {
    if (now() > end_) return false;
    std::this_thread::sleep_for(wait_);
    wait_ = std::min(wait_ + wait_ / 2, std::chrono::milliseconds(100));
    return true;
  }

 private:
  double end_;
  std::chrono::milliseconds wait_{10};
};

std::string make_nonce() {
  std::random_device random;
  std::ostringstream text;
  text << std::hex << random() << random() << '-' << getpid();
  return text.str();
}

/// The two lines of a file; nothing where it is not there, or not yet complete.
struct Lines {
  std::string first, second;
};
std::optional<Lines> read(const std::string& path) {
  std::ifstream file(path);
  Lines lines;
  std::getline(file, lines.first);
  std::getline(file, lines.second);
  return file && !file.eof() ? std::optional(lines) : std::nullopt;
}

/// Makes a file that nobody has made.
bool make(const std::string& path, const Lines& lines) {
  std::FILE* const file = std::fopen(path.c_str(), "wx");
  if (file == nullptr) return false;
  const bool is_written =
      std::fprintf(file, "%s\n%s\n", lines.first.c_str(), lines.second.c_str()) > 0;
  return std::fclose(file) == 0 && is_written;
}

/// The file of a job: removed in the end, unless it is another's by then.
class OwnFile {
 public:
  OwnFile(std::string path, Lines lines) : path_(std::move(path)), lines_(std::move(lines)) {}
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  ~OwnFile() { static_cast<void>(remove()); }

  /// In place of what is there, as a whole.
  [[nodiscard]] bool replace(const std::string& nonce) const {
    const std::string whole = path_ + "." + nonce;
    if (make(whole, lines_) && std::rename(whole.c_str(), path_.c_str()) == 0) return true;
    const int error = errno;
    std::remove(whole.c_str());
    errno = error;
    return false;
  }
  /// Where nothing is there.
  [[nodiscard]] bool claim() const { return make(path_, lines_); }
  [[nodiscard]] bool is_there() const {
    const auto found = read(path_);
    return found && found->first == lines_.first && found->second == lines_.second;
  }
  /// Whether it was there.
  bool remove() const { return is_there() && std::remove(path_.c_str()) == 0; }

 private:
  std::string path_;
  Lines lines_;
};

std::optional<Diagnostic> check_meeting(const Meeting& meeting) {
  if (meeting.name.empty() || meeting.name.find('/') != std::string::npos)
    return invalid("the name of a meeting of two jobs is '", meeting.name,
                   "'; give one that can be part of the name of a file, without '/'");
  if (!(meeting.timeout_seconds >= 0))
    return invalid("the timeout of a meeting of two jobs is negative; give seconds");
  std::error_code ignored;
  if (!std::filesystem::is_directory(meeting.folder, ignored))
    return invalid("the folder '", meeting.folder,
                   "' for a meeting of two jobs is none; make it where both jobs see it");
  // MPI_Comm_accept() would wait for ever, for a job that gets an error from MPI_Comm_connect().
  if (std::getenv("OMPI_MCA_orte_hnp_uri") != nullptr &&
      std::getenv("OMPI_MCA_pmix_server_uri") == nullptr)
    return diagnose(ErrorCode::mpi_failure,
                    "jobs of different mpirun cannot connect without a server. ", remedy);
  return std::nullopt;
}

Diagnostic nobody_came(const Meeting& meeting, const char* what, const char* call) {
  std::ostringstream seconds;
  seconds << meeting.timeout_seconds;
  return diagnose(ErrorCode::mpi_failure, "in ", seconds.str(), " s no ", what, " came to '",
                  meeting.name, "' in the folder '", meeting.folder,
                  "'; start the other job, which calls ", call,
                  " with the same name and folder, or raise the timeout. ", remedy);
}

/// What look() finds wrong or throws: the other ranks wait for it.
template <class Look>
std::optional<Diagnostic> found_by(Look&& look) {
  try {
    return look();
  } catch (const Error& error) {
    return diagnose(error.code(), error.what());
  } catch (const std::exception& error) {
    return diagnose(ErrorCode::internal, "cannot look for the other job: ", error.what());
  }
}

/// Lets errors of calls without a communicator return: they go to the handler of MPI_COMM_WORLD, or
/// of MPI_COMM_SELF from MPI 4 on, which would end the job.
class ReturningErrors {
 public:
  ReturningErrors() {
    for (std::size_t k = 0; k < before_.size(); ++k) {
      MPI_Comm_get_errhandler(communicators_[k], &before_[k]);
      MPI_Comm_set_errhandler(communicators_[k], MPI_ERRORS_RETURN);
    }
  }
  ReturningErrors(const ReturningErrors&) = delete;
  ReturningErrors& operator=(const ReturningErrors&) = delete;
  ~ReturningErrors() {
    for (std::size_t k = 0; k < before_.size(); ++k) {
      MPI_Comm_set_errhandler(communicators_[k], before_[k]);
      MPI_Errhandler_free(&before_[k]);
    }
  }

 private:
  std::array<MPI_Comm, 2> communicators_{MPI_COMM_WORLD, MPI_COMM_SELF};
  std::array<MPI_Errhandler, 2> before_{};
};

/// A port, from open() on until the end of the scope. Local.
struct Port {
  std::array<char, MPI_MAX_PORT_NAME> name{};

  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() {
    if (name[0] != '\0') MPI_Close_port(name.data());
  }
  std::optional<Diagnostic> open() {
    const ReturningErrors errors;
    try {
      check(MPI_Open_port(MPI_INFO_NULL, name.data()), "MPI_Open_port");
    } catch (const Error& error) {
      name = {};
      return diagnose(error.code(), error.what(), ". ", remedy);
    }
    return std::nullopt;
  }
};

/// Until another job is about to connect to `port`. Local.
std::optional<Diagnostic> wait_for_job(const Meeting& meeting, const std::string& port) {
  const std::string nonce = make_nonce();
  const std::string join = meeting.path(".join");
  Polling polling(meeting.timeout_seconds);
  std::optional<Lines> joined;
  {
    const OwnFile offer(meeting.path(".port"), {nonce, port});
    if (!offer.replace(nonce)) return meeting.cannot("write a file");
    while (!(joined = read(join)) || joined->first != nonce) {
      if (joined) std::remove(join.c_str());  // meant for a job that has been killed
      if (!polling.again()) return nobody_came(meeting, "job", "connect");
    }
  }
  const OwnFile go(meeting.path(".go"), {joined->second, nonce});
  if (!go.replace(nonce)) return meeting.cannot("write a file");
  std::error_code ignored;
  while (std::filesystem::exists(meeting.path(".go"), ignored))
    if (!polling.again()) {
      if (!go.remove() && !std::filesystem::exists(meeting.path(".go"), ignored)) break;
      return nobody_came(meeting, "answer of the job that", "connect");
    }
  return std::nullopt;
}

/// Until another job is about to accept at `port`. Local.
std::optional<Diagnostic> find_job(const Meeting& meeting, std::string& port) {
  const std::string nonce = make_nonce(), go = meeting.path(".go"), taken = go + "." + nonce;
  Polling polling(meeting.timeout_seconds);
  std::optional<OwnFile> join;
  std::string joined;  // the nonce of the other job
  do {
    const auto offer = read(meeting.path(".port"));
    if (offer && (offer->first != joined || !join || !join->is_there())) {
      join.reset();
      join.emplace(meeting.path(".join"), Lines{offer->first, nonce});
      errno = 0;
      joined = join->claim() ? offer->first : std::string();
      if (joined.empty() && errno != EEXIST) return meeting.cannot("write a file");
      port = offer->second;
    }
    const auto answer = read(go);
    if (!joined.empty() && answer && answer->first == nonce && answer->second == joined &&
        std::rename(go.c_str(), taken.c_str()) == 0) {
      std::remove(taken.c_str());
      return std::nullopt;
    }
  } while (polling.again());
  return nobody_came(meeting, "job that accepts", "accept");
}

/// Open MPI writes to connections that a killed job has left, and the signal would end this job
/// before its waits could.
void survive_broken_connections() {
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

using Connect = int (*)(const char*, MPI_Info, int, MPI_Comm, MPI_Comm*);

/// The way of both, by the files to the intercommunicator. Collective.
/// @param look  Finds the port, or what is wrong. On rank 0.
MPI_Comm meet(MPI_Comm communicator, const Meeting& meeting, Connect call, const char* call_name,
              const std::function<std::optional<Diagnostic>(std::string& port)>& look) {
  const detail::MemoryReserve reserve;
  const Channel channel = Channel::open_for_call(communicator);
  std::string port;
  std::optional<Diagnostic> failed;
  if (channel.rank() == 0)
    failed = found_by([&] {
      std::optional<Diagnostic> found = check_meeting(meeting);
      return found ? found : look(port);
    });
  agree(channel, failed);
  // On a communicator whose errors return: all ranks of the job are to hear of them.
  MPI_Comm quiet = MPI_COMM_NULL, both = MPI_COMM_NULL;
  check(MPI_Comm_dup(channel.get(), &quiet), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  try {
    check(call(port.c_str(), MPI_INFO_NULL, 0, quiet, &both), call_name);
  } catch (const Error& error) {
    failed = diagnose(error.code(), error.what(), ". ", remedy);
  }
  MPI_Comm_free(&quiet);
  agree(channel, failed);
  survive_broken_connections();
  return both;
}

}  // namespace

MPI_Comm accept_job(MPI_Comm communicator, const std::string& name, const std::string& folder,
                    double timeout_seconds) {
  const Meeting meeting{name, folder, timeout_seconds};
  Port own;
  return meet(communicator, meeting, MPI_Comm_accept, "MPI_Comm_accept", [&](std::string& port) {
    std::optional<Diagnostic> found = own.open();
    port = own.name.data();
    return found ? found : wait_for_job(meeting, port);
  });
}

MPI_Comm connect_job(MPI_Comm communicator, const std::string& name, const std::string& folder,
                     double timeout_seconds) {
  const Meeting meeting{name, folder, timeout_seconds};
  return meet(communicator, meeting, MPI_Comm_connect, "MPI_Comm_connect",
              [&](std::string& port) { return find_job(meeting, port); });
}

}  // namespace valet::mpi
