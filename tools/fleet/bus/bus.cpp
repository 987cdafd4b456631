#include "tools/fleet/bus/bus.hpp"

#include <nats/nats.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>

namespace ttc::fleet {
namespace {

constexpr int64_t kPingMs = 5'000;  // a server that hangs is noticed within three of these
constexpr int64_t kReconnectMs = 200, kJitterMs = 200;
constexpr int64_t kConnectMs = 3'000;
constexpr int64_t kWindowNs = 600'000'000'000;  // in which a repeated message is known to be one
constexpr int kFetch = 64;
constexpr const char* kIdHeader = "Nats-Msg-Id";

template <class Thing, void (*destroy)(Thing*)>
struct Destroy {
  void operator()(Thing* thing) const { destroy(thing); }
};
using OwnedMessage = std::unique_ptr<natsMsg, Destroy<natsMsg, natsMsg_Destroy>>;
using OwnedSubscription =
    std::unique_ptr<natsSubscription, Destroy<natsSubscription, natsSubscription_Destroy>>;
using OwnedOptions = std::unique_ptr<natsOptions, Destroy<natsOptions, natsOptions_Destroy>>;
using OwnedAck = std::unique_ptr<jsPubAck, Destroy<jsPubAck, jsPubAck_Destroy>>;
using OwnedInfo = std::unique_ptr<jsStreamInfo, Destroy<jsStreamInfo, jsStreamInfo_Destroy>>;

// The client's last error has more words than the status.
std::string words_of(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* more = nats_GetLastError(&last);
  std::string words = natsStatus_GetText(status);
  if (more && *more && last == status && words != more) words = more;
  return words;
}

int milliseconds(uint64_t ns) {
  return static_cast<int>(std::clamp<uint64_t>(ns / 1'000'000, 1, INT_MAX));
}

Message taken(natsMsg* message) {
  Message m;
  if (const char* subject = natsMsg_GetSubject(message)) m.subject = subject;
  if (const char* reply = natsMsg_GetReply(message)) m.reply = reply;
  if (const int length = natsMsg_GetDataLength(message); length > 0)
    m.data.assign(natsMsg_GetData(message), static_cast<size_t>(length));
  const char* id = nullptr;
  if (natsMsgHeader_Get(message, kIdHeader, &id) == NATS_OK && id) m.id = id;
  return m;
}

void need(natsStatus status, const std::string& what) {
  if (status != NATS_OK) throw BusError(what + ": " + words_of(status));
}

}  // namespace

struct Bus::Subscribed {
  std::string subject;
  std::mutex mutex;
  Handler handler;  // with mutex; none: it is over
  void handle(const Message& message) {
    const std::lock_guard lock(mutex);
    if (handler) handler(message);
  }
};

struct Bus::Client {
  natsConnection* connection = nullptr;
  jsCtx* stream = nullptr;
  std::vector<OwnedSubscription> subscriptions;
  ~Client() {
    subscriptions.clear();
    jsCtx_Destroy(stream);
    if (connection) natsConnection_Close(connection);
    natsConnection_Destroy(connection);
  }
};

std::string stream_of(std::string_view cluster) {
  return "tt_" + std::string(cluster);
}

Bus::Bus(const BusOptions& options) : options_(options) {
  open();
}

void Bus::close() {
  std::vector<std::shared_ptr<Subscribed>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(subscribed_);
  }
  for (const auto& s : all) {
    const std::lock_guard lock(s->mutex);
    s->handler = nullptr;
  }
  std::shared_ptr<Client> last;
  const std::lock_guard lock(mutex_);
  last.swap(client_);
}

// The client calls back on threads of its own: the last call is that the connection is closed.
Bus::~Bus() {
  close();
  constexpr std::chrono::seconds kMost{5};
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kMost, [&] { return ended_ >= opened_; });
}

void Bus::ended() {
  const std::lock_guard lock(mutex_);
  ++ended_;
  changed_.notify_all();
}

void end_bus_threads() {
  constexpr int64_t kMostMs = 5'000;
  nats_CloseAndWait(kMostMs);
}

// The last callback of a subscription frees the objects that it refers to.
void Bus::listen(Client& client, const std::shared_ptr<Subscribed>& subscribed) {
  using Held = std::shared_ptr<Subscribed>;
  auto held = std::make_unique<Held>(subscribed);
  natsSubscription* made = nullptr;
  need(natsConnection_Subscribe(
           &made, client.connection, subscribed->subject.c_str(),
           [](natsConnection*, natsSubscription*, natsMsg* message, void* of) {
             const OwnedMessage owned(message);
             (*static_cast<Held*>(of))->handle(taken(message));
           },
           held.get()),
       "subject " + subscribed->subject);
  client.subscriptions.emplace_back(made);
  if (natsSubscription_SetOnCompleteCB(
          made, [](void* of) { delete static_cast<Held*>(of); }, held.get()) == NATS_OK)
    held.release();  // NOLINT(bugprone-unused-return-value)
}

void Bus::open() {
  natsOptions* made = nullptr;
  need(natsOptions_Create(&made), "the bus");
  const OwnedOptions options(made);
  need(natsOptions_SetURL(made, options_.url.c_str()), "the bus " + options_.url);
  natsOptions_SetName(made, options_.name.c_str());
  natsOptions_SetMaxReconnect(made, -1);
  natsOptions_SetReconnectWait(made, kReconnectMs);
  natsOptions_SetReconnectJitter(made, kJitterMs, kJitterMs);
  natsOptions_SetReconnectBufSize(made, 1);  // what cannot be sent now fails now, and is tried again by us
  natsOptions_SetPingInterval(made, kPingMs);
  natsOptions_SetTimeout(made, kConnectMs);
  natsOptions_SetFailRequestsOnDisconnect(made, true);
  if (!options_.credentials.empty())
    need(natsOptions_SetUserCredentialsFromFiles(made, options_.credentials.c_str(), nullptr),
         "credentials " + options_.credentials);
  if (!options_.authority.empty() || !options_.certificate.empty() || options_.url.starts_with("tls://"))
    need(natsOptions_SetSecure(made, true), "TLS");
  if (!options_.authority.empty())
    need(natsOptions_LoadCATrustedCertificates(made, options_.authority.c_str()),
         "certificates " + options_.authority);
  if (!options_.certificate.empty())
    need(natsOptions_LoadCertificatesChain(made, options_.certificate.c_str(), options_.key.c_str()),
         "certificate " + options_.certificate + " with key " + options_.key);
  const auto complain = [](natsConnection* c, natsSubscription*, natsStatus status, void* bus) {
    const char* more = nullptr;
    natsConnection_GetLastError(c, &more);
    static_cast<Bus*>(bus)->note(more && *more ? more : natsStatus_GetText(status));
  };
  const auto gone = [](natsConnection* c, void* bus) {
    const char* more = nullptr;
    if (natsConnection_GetLastError(c, &more) != NATS_OK && more && *more) static_cast<Bus*>(bus)->note(more);
  };
  const auto is_there = [](natsConnection*, void* bus) { static_cast<Bus*>(bus)->came(); };
  const auto closed = [](natsConnection* c, void* bus) {
    const char* more = nullptr;
    if (natsConnection_GetLastError(c, &more) != NATS_OK && more && *more) static_cast<Bus*>(bus)->note(more);
    static_cast<Bus*>(bus)->ended();
  };
  natsOptions_SetErrorHandler(made, complain, this);
  natsOptions_SetDisconnectedCB(made, gone, this);
  natsOptions_SetClosedCB(made, closed, this);
  natsOptions_SetReconnectedCB(made, is_there, this);
  if (options_.patient) natsOptions_SetRetryOnFailedConnect(made, true, is_there, this);

  auto fresh = std::make_shared<Client>();
  natsStatus status = natsConnection_Connect(&fresh->connection, made);
  // Servers refuse about one in a hundred of the signatures that libnats 3.4.1 makes with good credentials (measured: 5 of 500
  // connections, each accepted when tried again). Wrong credentials are refused each time.
  constexpr int kMoreSignatures = 3;
  for (int more = 0;
       more < kMoreSignatures && status == NATS_CONNECTION_AUTH_FAILED && !options_.credentials.empty();
       ++more)
    status = natsConnection_Connect(&fresh->connection, made);
  if (status == NATS_OK) came();
  if (status != NATS_OK && !(options_.patient && status == NATS_NOT_YET_CONNECTED)) {
    std::string why = words_of(status);
    // A server that refuses the client's certificate closes the connection in the middle of the greeting.
    const bool hung_up =
        why.find("Expected 'PONG', got ''") != std::string::npos || why.find("SSL_") != std::string::npos;
    if (hung_up && why.find("handshake") == std::string::npos)
      why += options_.certificate.empty()
                 ? "; the server closed the connection: it may require a client certificate (--cert, --key)"
                 : "; the server closed the connection: it may not accept the authority of the client "
                   "certificate";
    if (!options_.patient) throw BusError("the bus " + options_.url + " cannot be reached: " + why);
    note(why);
    return;
  }
  need(natsConnection_JetStream(&fresh->stream, fresh->connection, nullptr), "JetStream");
  const std::lock_guard lock(mutex_);
  ++opened_;
  client_ = std::move(fresh);
  for (const auto& s : subscribed_) listen(*client_, s);
}

std::shared_ptr<Bus::Client> Bus::client() const {
  const std::lock_guard lock(mutex_);
  return client_;
}

void Bus::note(const std::string& complaint) {
  const std::lock_guard lock(mutex_);
  complaint_ = complaint;
}

std::string Bus::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

bool Bus::connected() const {
  const auto now = client();
  return now && natsConnection_Status(now->connection) == NATS_CONN_STATUS_CONNECTED;
}

void Bus::revive() {
  const auto now = client();
  if (now && !natsConnection_IsClosed(now->connection)) return;
  {
    const std::lock_guard lock(mutex_);
    client_.reset();
  }
  open();
}

void Bus::subscribe(const std::string& subject, Handler handler) {
  const std::lock_guard lock(mutex_);
  subscribed_.push_back(std::make_shared<Subscribed>());
  subscribed_.back()->subject = subject, subscribed_.back()->handler = std::move(handler);
  if (!client_) return;  // open() does it
  try {
    listen(*client_, subscribed_.back());
  } catch (const BusError& e) {
    // A connection that was refused for good is closed: revive() makes another one, with all subscriptions.
    if (!options_.patient || !natsConnection_IsClosed(client_->connection)) throw;
    complaint_ = e.what();
  }
}

void Bus::publish(const std::string& subject, std::string_view data) {
  const auto now = client();
  if (!now) return;
  const natsStatus status =
      natsConnection_Publish(now->connection, subject.c_str(), data.data(), static_cast<int>(data.size()));
  if (status != NATS_OK) note(words_of(status));
}

std::optional<Message> Bus::request(const std::string& subject, std::string_view data, uint64_t timeout_ns) {
  const auto now = client();
  if (!now) return std::nullopt;
  natsMsg* reply = nullptr;
  const natsStatus status = natsConnection_Request(&reply, now->connection, subject.c_str(), data.data(),
                                                   static_cast<int>(data.size()), milliseconds(timeout_ns));
  if (status != NATS_OK) return std::nullopt;
  const OwnedMessage owned(reply);
  if (natsMsg_IsNoResponders(reply)) return std::nullopt;
  return taken(reply);
}

void Bus::ask_all(const std::string& subject, std::string_view data, uint64_t timeout_ns,
                  const std::function<void(const Message&)>& take, const std::function<bool()>& enough) {
  constexpr int64_t kLookAgainMs = 10;
  const auto now = client();
  if (!now) return;
  natsInbox* inbox = nullptr;
  need(natsInbox_Create(&inbox), "an inbox");
  const std::string answers = inbox;
  natsInbox_Destroy(inbox);
  natsSubscription* made = nullptr;
  need(natsConnection_SubscribeSync(&made, now->connection, answers.c_str()), "subject " + answers);
  const OwnedSubscription subscription(made);
  need(natsConnection_PublishRequest(now->connection, subject.c_str(), answers.c_str(), data.data(),
                                     static_cast<int>(data.size())),
       "subject " + subject);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())
            .count();
    if (left <= 0 || enough()) return;
    natsMsg* message = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&message, made, std::min<int64_t>(left, kLookAgainMs));
    if (status == NATS_TIMEOUT) continue;
    if (status != NATS_OK) return;
    const OwnedMessage owned(message);
    if (natsMsg_IsNoResponders(message)) return;
    take(taken(message));
  }
}

Bus::Outcome Bus::store(const std::string& subject, const std::string& id, std::string_view data,
                        uint64_t timeout_ns) {
  const auto now = client();
  if (!now || !connected()) return {};
  natsMsg* made = nullptr;
  need(natsMsg_Create(&made, subject.c_str(), nullptr, data.data(), static_cast<int>(data.size())),
       "a message");
  const OwnedMessage message(made);
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MsgId = id.c_str();
  options.MaxWait = milliseconds(timeout_ns);
  jsPubAck* ack = nullptr;
  jsErrCode code{};
  const natsStatus status = js_PublishMsg(&ack, now->stream, made, &options, &code);
  const OwnedAck owned(ack);
  if (status == NATS_OK) return {ack->Duplicate ? Stored::again : Stored::stored, {}};
  const bool refused = code != 0 || status == NATS_NO_RESPONDERS;
  const std::string why = status == NATS_NO_RESPONDERS ? "no stream takes " + subject : words_of(status);
  return {refused ? Stored::refused : Stored::away, why};
}

std::optional<std::string> Bus::last_id(const std::string& stream, const std::string& subject) {
  const auto now = client();
  if (!now) return std::nullopt;
  natsMsg* made = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_GetLastMsg(&made, now->stream, stream.c_str(), subject.c_str(), nullptr, &code);
  const OwnedMessage message(made);
  if (status == NATS_NOT_FOUND) return std::string();
  if (status != NATS_OK) return std::nullopt;
  return taken(made).id;
}

std::string Bus::ensure_stream(const std::string& stream, const std::string& subjects,
                               const StreamLimits& limits) {
  const auto now = client();
  if (!now) return "the bus is away";
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus there = js_GetStreamInfo(&info, now->stream, stream.c_str(), nullptr, &code);
  const OwnedInfo of_what_is(info);
  if (there == NATS_OK) return {};
  jsStreamConfig wanted;
  jsStreamConfig_Init(&wanted);
  const char* all[] = {subjects.c_str()};
  wanted.Name = stream.c_str();
  wanted.Subjects = all, wanted.SubjectsLen = 1;
  wanted.Storage = js_FileStorage;
  wanted.Discard = js_DiscardOld;
  wanted.Duplicates = kWindowNs;
  if (limits.max_age_ns) {
    wanted.MaxAge = static_cast<int64_t>(limits.max_age_ns);
    wanted.Duplicates = std::min(kWindowNs, wanted.MaxAge);
  }
  if (limits.max_bytes) wanted.MaxBytes = static_cast<int64_t>(limits.max_bytes);
  wanted.Replicas = limits.replicas;
  jsStreamInfo* made = nullptr;
  const natsStatus status = js_AddStream(&made, now->stream, &wanted, nullptr, &code);
  const OwnedInfo of_what_was_made(made);
  if (status == NATS_OK) return {};
  return "stream " + stream + " is not there and cannot be made: " + words_of(status);
}

bool Bus::holds_its_beginning(const std::string& stream) {
  const auto now = client();
  if (!now) throw BusError("the bus is away");
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  need(js_GetStreamInfo(&info, now->stream, stream.c_str(), nullptr, &code), "stream " + stream);
  const OwnedInfo owned(info);
  return info->State.FirstSeq <= 1;
}

void Bus::read_stream(const std::string& stream, const std::string& subjects, uint64_t since_ns,
                      const std::function<bool(const Message&)>& take) {
  const auto now = client();
  if (!now) throw BusError("the bus is away");
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream.c_str();
  options.Config.DeliverPolicy = since_ns ? js_DeliverByStartTime : js_DeliverAll;
  options.Config.OptStartTime = static_cast<int64_t>(since_ns);
  options.Config.AckPolicy = js_AckNone;
  natsSubscription* made = nullptr;
  jsErrCode code{};
  need(js_PullSubscribe(&made, now->stream, subjects.c_str(), nullptr, nullptr, &options, &code),
       "stream " + stream);
  const OwnedSubscription subscription(made);
  jsConsumerInfo* info = nullptr;
  need(natsSubscription_GetConsumerInfo(&info, made, nullptr, &code), "stream " + stream);
  uint64_t pending = info->NumPending;
  jsConsumerInfo_Destroy(info);
  const auto hand_over = [&](natsMsgList& list) {
    bool go_on = true;
    for (int i = 0; i < list.Count && go_on; ++i) {
      Message m = taken(list.Msgs[i]);
      jsMsgMetaData* meta = nullptr;
      need(natsMsg_GetMetaData(&meta, list.Msgs[i]), "stream " + stream);
      m.sequence = meta->Sequence.Stream;
      pending = meta->NumPending;
      jsMsgMetaData_Destroy(meta);
      go_on = take(m);
    }
    return go_on;
  };
  constexpr int64_t kMostMs = 30'000;
  for (bool go_on = true; pending && go_on;) {
    natsMsgList list{};
    const natsStatus status = natsSubscription_Fetch(
        &list, made, static_cast<int>(std::min<uint64_t>(pending, kFetch)), kMostMs, &code);
    if (list.Count == 0) throw BusError("stream " + stream + ": " + words_of(status));
    go_on = hand_over(list);
    natsMsgList_Destroy(&list);
  }
}

}  // namespace ttc::fleet
