#include "tools/ttfleet/options.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>

#include "collector/program/option_units.hpp"

namespace ttc::fleet {
namespace {

constexpr const char* kBus = "Bus";
constexpr uint64_t kSecond = 1'000'000'000;

void add_bus_options(CLI::App& c, Options& o) {
  c.add_option("--bus", o.bus.url,
               "nats://HOST:4222, tls://HOST:4222, or a comma list of a cluster's servers")
      ->envname("TTFLEET_BUS")
      ->capture_default_str()
      ->group(kBus);
  c.add_option("--creds", o.bus.credentials, "file of a user's credentials")
      ->check(CLI::ExistingFile)
      ->group(kBus);
  c.add_option("--ca", o.bus.authority,
               "certificates (PEM) that the server's must be signed by; switches TLS on")
      ->check(CLI::ExistingFile)
      ->group(kBus);
  CLI::Option* const key = c.add_option("--key", o.bus.key, "this side's private key (PEM)");
  key->check(CLI::ExistingFile)->group(kBus);
  CLI::Option* const certificate = c.add_option("--cert", o.bus.certificate, "this side's certificate (PEM)");
  certificate->check(CLI::ExistingFile)->needs(key)->group(kBus);
  key->needs(certificate);
}

void add_job_options(CLI::App& c, Options& o) {
  c.add_option("--cluster", o.identity.cluster, "default: SLURM_CLUSTER_NAME, or local")
      ->envname("TTFLEET_CLUSTER");
  c.add_option("-J,--job", o.identity.job,
               "default: TT_RUN_JOB, SLURM_JOB_ID, PMIX_NAMESPACE, ..., or default")
      ->envname("TTFLEET_JOB");
}

void add_question_options(CLI::App& c, Options& o) {
  add_bus_options(c, o);
  add_job_options(c, o);
  program::add_duration_option(c, "--timeout", o.timeout_ns, "how long answers are waited for (default: 1s)",
                               {1'000'000, 600 * kSecond});
  c.add_flag("--json", o.json, "as JSON");
}

}  // namespace

void add_setup_options(CLI::App& c, Options& o) {
  add_bus_options(c, o);
  c.add_option("--cluster", o.identity.cluster, "default: SLURM_CLUSTER_NAME, or local")
      ->envname("TTFLEET_CLUSTER");
  program::add_size_option(c, "--max-size", o.stream.max_bytes,
                           "the oldest rows go when the stream is larger (default: as the account allows)");
  program::add_duration_option(c, "--max-age", o.stream.max_age_ns, "or older (default: they stay)");
  c.add_option("--replicas", o.stream.replicas, "servers of a cluster that hold each row")
      ->check(CLI::Range(1u, 5u))
      ->capture_default_str();
}

void add_agent_options(CLI::App& c, Options& o) {
  c.add_option("--from", o.from, "live:NAME, or a capture; repeatable")->required()->expected(1)->take_all();
  add_bus_options(c, o);
  add_job_options(c, o);
  c.add_option("--host", o.identity.host, "default: this host's name up to its first dot")
      ->envname("TTFLEET_HOST");
  c.add_option("--rank", o.identity.rank,
               "default: TT_RUN_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID, or 0")
      ->check(CLI::Range(int64_t{0}, int64_t{UINT32_MAX}))
      ->envname("TTFLEET_RANK");
  c.add_option("--spool", o.spool,
               "directory for rows while the bus is away, for dumps and the log of commands")
      ->envname("TTFLEET_SPOOL");
  program::add_size_option(c, "--spool-size", o.spool_bytes,
                           "at most this of rows waits there (default: 256MiB)",
                           {uint64_t{16} << 10, uint64_t{1} << 50});
  program::add_duration_option(c, "--linger", o.linger_ns,
                               "how long to send what is left when collecting has ended (default: 5s)",
                               {0, 86400 * kSecond});
  program::add_duration_option(c, "--wait", o.wait_ns, "wait up to this long for live names to appear", {0});
  c.add_option("--end-with-parent", o.end_with_parent,
               "end when process PID, which started this one, has ended")
      ->check(CLI::Range(1, 1 << 22));
  c.add_flag("-q,--quiet", o.quiet, "no line for each command");
}

void add_ls_options(CLI::App& c, Options& o) {
  add_question_options(c, o);
}

void add_watch_options(CLI::App& c, Options& o) {
  add_question_options(c, o);
  program::add_duration_option(c, "--for", o.for_ns, "stop after so long (default: until a signal)");
  program::add_duration_option(c, "--interval", o.every_ns, "between two tables (default: 2s)",
                               {100'000'000, 3600 * kSecond});
}

void add_dump_options(CLI::App& c, Options& o) {
  add_question_options(c, o);
  program::add_duration_option(c, "--last", o.last_ns, "how much before the instant (default: 10s)",
                               {1'000'000, 3600 * kSecond});
  program::add_duration_option(c, "--ahead", o.ahead_ns,
                               "how far ahead the instant is; a rank that the command reaches later cuts at "
                               "it all the same, from its ring "
                               "(default: 100ms)",
                               {0, 30 * kSecond});
  c.add_option("--why", o.why, "a note for the logs");
  c.add_option("-o,--output", o.output,
               "directory for the captures, <host>_rank_<N>.ttc (default: the dump's id)");
  c.add_flag("--no-gather", o.no_gather,
             "leave the captures where they are; ttfleet gather fetches them later");
}

void add_gather_options(CLI::App& c, Options& o) {
  add_question_options(c, o);
  c.add_option("id", o.id, "of the dump; without it, the dumps that agents hold are listed");
  c.add_option("-o,--output", o.output,
               "directory for the captures, <host>_rank_<N>.ttc (default: the dump's id)");
}

void add_trigger_options(CLI::App& c, Options& o) {
  add_question_options(c, o);
  c.add_option(
       "--arm", o.arm,
       "on every rank: p99:OP>5% (of an op's last minute over its last hour; OP: host id or *), step>100ms,\n"
       "lag>10ms; where it holds, every rank cuts its flight recorder. Repeatable")
      ->expected(1)
      ->take_all();
  c.add_option("--disarm", o.disarm, "take the rule away; repeatable")->expected(1)->take_all();
}

void add_report_options(CLI::App& c, Options& o) {
  add_bus_options(c, o);
  add_job_options(c, o);
  c.add_option("captures", o.captures,
               "instead of what the bus holds: captures, or directories of them as ttfleet dump leaves them");
  program::add_duration_option(c, "--since", o.since_ns,
                               "only what was stored in the last so long (default: all)");
  c.add_option("-o,--output", o.output, "also write all rows of all ranks to this SQLite file");
  c.add_flag("--json", o.json, "as JSON");
}

std::string state_directory() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state)
    return std::string(state) + "/ttfleet";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.local/state/ttfleet";
  return "/var/lib/ttfleet";
}

Identity identity_of(const Options& o) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return identity_of([](const char* variable) { return std::getenv(variable); }, name.data(), o.identity);
}

}  // namespace ttc::fleet
