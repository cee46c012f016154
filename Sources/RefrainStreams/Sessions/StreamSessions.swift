// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

/// The sessions of a proxy's streams, by their identifiers.
///
/// A stream that begins again with the same URL and headers continues its session, unless the user
/// has removed everything since: that session is not stored again, so another one begins.
///
/// An unknown identifier, as after a restart with another token, is a request without a session;
/// the stream's next playlist then begins a new one if it needs one.
package final class StreamSessions: Sendable {
  private struct State {
    var sessions: [String: StreamSession] = [:]
    var begun: [StreamCookies.Beginning: StreamSession] = [:]
    /// Reads and writes the file; the newest one.
    var exchange: Task<Void, Never>?
    /// The file after the last exchange.
    var known = SessionStore.Known()
    /// Stores the sessions; the newest one.
    var saving: Task<Void, Never>?
    /// When `saving` begins to write; nil if it has begun.
    var due: ContinuousClock.Instant?
    var isClosed = false
    /// Whether a failure was reported since the last success.
    var hasReported = false

    mutating func insert(_ session: StreamSession) {
      sessions[session.id] = session
      guard sessions.count > SessionStore.capacity,
        let oldest = sessions.values.min(by: { $0.lastUse < $1.lastUse })
      else { return }
      sessions[oldest.id] = nil
      retire(oldest)
    }

    /// Continues a session for the streams that use it now, and for none that begins later.
    ///
    /// - Returns: whether one could have continued it.
    @discardableResult
    mutating func retire(_ session: StreamSession) -> Bool {
      guard begun[session.beginning] === session else { return false }
      begun[session.beginning] = nil
      return true
    }
  }

  /// Some origins change a cookie with each response.
  private static let pause: Duration = .seconds(60)

  private let state = Mutex(State())
  private let cache: MediaCache
  private let store: SessionStore?

  /// - Parameter token: the token that the next proxy has too; nil: the sessions end with this one.
  package init(_ cache: MediaCache, token: String?) {
    self.cache = cache
    store = token.map { SessionStore(cache.privateFiles, token: $0) }
  }

  /// Returns the session of a stream that began at this URL with these headers; nil if there is
  /// none.
  package func begun(with headers: HeaderFields, for url: URL) -> StreamSession? {
    let session = state.withLock { $0.begun[.init(url: url, headers: headers)] }
    return session.flatMap { isRemovedHere($0) ? nil : $0 }
  }

  private func isRemovedHere(_ session: StreamSession) -> Bool {
    store?.isRemovedHere(since: session.cookies.begun) ?? false
  }

  /// Returns the session of a stream that begins at this URL with these headers.
  ///
  /// - Parameter cookies: those that the responses to its first requests have set.
  package func begin(
    with headers: HeaderFields, for url: URL, _ cookies: CookieJar
  ) -> StreamSession {
    let now = cache.now.wall
    let new = StreamSession(
      StreamSession.Record(
        id: StreamSession.newIdentifier(), url: url,
        headers: headers.fields.map { .init(name: $0.name, value: $0.value) },
        lastUse: Int(now.timeIntervalSince1970)), cookies, noteChange: noteChange)
    let session = state.withLock { state in
      if let known = state.begun[new.beginning], !isRemovedHere(known) { return known }
      state.begun[new.beginning] = new
      state.insert(new)
      return new
    }
    // One that was read from the file has a jar of its own.
    if session.cookies !== cookies { session.cookies.add(cookies.all(at: now), at: now) }
    save(after: session === new ? .zero : Self.pause)
    return session
  }

  private var noteChange: @Sendable () -> Void {
    { [weak self] in self?.save(after: Self.pause) }
  }

  func session(_ id: String) -> StreamSession? {
    let session = state.withLock { $0.sessions[id] }
    session?.noteUse(at: cache.now.wall)
    return session
  }

  /// As `session`; an unknown one may have begun in another process meanwhile, from which this one
  /// takes over.
  package func find(_ id: String) async -> StreamSession? {
    if let session = session(id) { return session }
    await refresh()
    return session(id)
  }

  // MARK: The file

  /// Reads what other processes have stored or removed.
  package func refresh() async { await exchange(isRefresh: true) }

  /// Stores the sessions, and stores none that change later.
  package func close() async {
    let saving = state.withLock { state in
      state.isClosed = true
      return state.saving
    }
    saving?.cancel()
    await saving?.value
    await exchange()
  }

  /// Stores the sessions after a while, with the changes until then.
  package func save(after delay: Duration) {
    guard store != nil else { return }
    let due = ContinuousClock.now + delay
    state.withLock { state in
      if state.isClosed { return }
      if let earlier = state.due {
        if earlier <= due { return }
        state.saving?.cancel()
      }
      state.due = due
      state.saving = Task { [weak self, before = state.saving] in
        await before?.value
        do { try await Task.sleep(until: due, clock: .continuous) } catch { return }
        guard let self else { return }
        self.state.withLock { $0.due = nil }
        await exchange()
      }
    }
  }

  /// One after the other: whoever finds the file unchanged finds what the one before has adopted.
  private func exchange(isRefresh: Bool = false) async {
    guard let store else { return }
    let exchange = state.withLock { state in
      let exchange = Task { [before = state.exchange] in
        await before?.value
        await exchangeNow(with: store, isRefresh: isRefresh)
      }
      state.exchange = exchange
      return exchange
    }
    await exchange.value
  }

  private func exchangeNow(with store: SessionStore, isRefresh: Bool) async {
    let now = cache.now
    let (sessions, before) = state.withLock { (Array($0.sessions.values), $0.known) }
    let (outcome, known) = await IOThreads.background.run {
      var known = before
      let outcome = Result {
        try store.exchange(sessions, at: now.wall, &known, unlessUnchanged: isRefresh)
      }
      return (outcome, known)
    }
    state.withLock { $0.known = known }
    do {
      if let exchanged = try outcome.get() { adopt(exchanged, at: now) }
      state.withLock { $0.hasReported = false }
    } catch {
      let isFirst = state.withLock { state in
        defer { state.hasReported = true }
        return !state.hasReported
      }
      guard isFirst else { return }
      cache.report(
        warning: "The sessions of streams could not be read from, or stored in, \(store.path) "
          + "(\(error)). Streams that need them have to be opened again after a restart of the "
          + "proxy.")
    }
  }

  private func adopt(_ exchanged: SessionStore.Exchanged, at now: Moment) {
    let hasRetired = state.withLock { state in
      for record in exchanged.records {
        if let known = state.sessions[record.id] {
          known.adopt(record, at: now.wall)
        } else {
          let session = StreamSession(
            record, CookieJar(record.cookies, begun: now.uptime), noteChange: noteChange)
          // The most recently used one comes first, and continues a stream that began twice.
          state.begun[session.beginning] = state.begun[session.beginning] ?? session
          state.insert(session)
        }
      }
      return exchanged.removed.map { state.retire($0) }.contains(true)
    }
    if hasRetired { cache.forgetCookies() }
  }
}

extension StreamSession {
  fileprivate var beginning: StreamCookies.Beginning { .init(url: url, headers: headers) }
}
