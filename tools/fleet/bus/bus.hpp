// NATS through Debian's client: a connection that comes back by itself, requests, and rows stored by JetStream. What the client's
// C types are stays in bus.cpp.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::fleet {

struct BusError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct BusOptions {
  std::string url = "nats://127.0.0.1:4222";
  std::string name;                         // of this connection, for the server's lists
  std::string credentials;                  // file of a user's JWT and seed
  std::string authority, certificate, key;  // PEM files of TLS
  bool patient = false;                     // retries while no server answers; else that is an error
};

struct Message {
  std::string subject, reply, data;
  std::string id;         // Nats-Msg-Id
  uint64_t sequence = 0;  // in its stream
};

// The limits of a stream.
struct StreamLimits {
  uint64_t max_bytes = 0;  // 0: as the account allows
  uint64_t max_age_ns = 0;
  unsigned replicas = 1;
};

class Bus {
 public:
  using Handler = std::function<void(const Message&)>;

  // Throws BusError.
  explicit Bus(const BusOptions& options);
  ~Bus();
  // Stops all handlers. Must be called before objects that handlers refer to are destroyed.
  void close();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  bool connected() const;
  uint64_t connections() const { return connections_; }  // so far
  // A connection that was refused for good (credentials) is tried again; a patient user calls this now and then.
  void revive();
  // The last error of the server or the client; empty if there is none.
  std::string complaint() const;

  // Each message on a thread of the client. Messages that a handler is too slow for are dropped by the client, which complains.
  void subscribe(const std::string& subject, Handler handler);
  void publish(const std::string& subject, std::string_view data);  // may be lost; throws nothing
  // The answer; none if none came in time: complaint() may hold the reason.
  std::optional<Message> request(const std::string& subject, std::string_view data, uint64_t timeout_ns);
  // All answers, each to `take`, until `timeout_ns` is over or `enough`, which is called now and then.
  void ask_all(const std::string& subject, std::string_view data, uint64_t timeout_ns,
               const std::function<void(const Message&)>& take, const std::function<bool()>& enough);

  enum class Stored : uint8_t { stored, again, refused, away };
  struct Outcome {
    Stored what = Stored::away;
    std::string why;
  };
  // Stored in the stream of its subject: once, however often it is tried with the same `id` within the stream's window.
  Outcome store(const std::string& subject, const std::string& id, std::string_view data,
                uint64_t timeout_ns);
  // Nats-Msg-Id of what was stored last under the subject. Empty: nothing was; none: it is not known.
  std::optional<std::string> last_id(const std::string& stream, const std::string& subject);
  // Makes the stream unless it is there; empty, or why not.
  std::string ensure_stream(const std::string& stream, const std::string& subjects,
                            const StreamLimits& limits);
  // True if the stream still holds its first message: limits remove the oldest. Throws BusError.
  bool holds_its_beginning(const std::string& stream);
  // Reads what is stored under `subjects` from the beginning (or from `since_ns` of UTC) in its order, until nothing more is
  // stored or `take` returns false. Throws BusError, also when nothing comes for half a minute although there is more.
  void read_stream(const std::string& stream, const std::string& subjects, uint64_t since_ns,
                   const std::function<bool(const Message&)>& take);

 private:
  struct Client;
  struct Subscribed;
  void open();
  static void listen(Client& client, const std::shared_ptr<Subscribed>& subscribed);
  void ended();
  void note(const std::string& complaint);
  void came() { ++connections_; }
  std::shared_ptr<Client> client() const;

  const BusOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<Client> client_;                       // with mutex_
  std::vector<std::shared_ptr<Subscribed>> subscribed_;  // with mutex_
  std::string complaint_;                                // with mutex_
  std::atomic<uint64_t> connections_{0};
  uint64_t opened_ = 0, ended_ = 0;  // with mutex_; connections, and those whose last callback has come
  std::condition_variable changed_;
};

// Must be called at the end of a program, after every Bus: waits for the client's threads.
void end_bus_threads();

std::string stream_of(std::string_view cluster);

}  // namespace ttc::fleet
