// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The sessions of a proxy's streams, by their identifiers.
///
/// A stream that begins again with the same URL and headers continues its session, unless the user
/// has removed everything since: that session is not stored again, so another one begins.
///
/// An unknown identifier, as after a restart with another token, is a request without a session;
/// the stream's next playlist then begins a new one if it needs one.
final class StreamSessions: Sendable {
  /// The request with which a stream begins.
  struct Beginning: Sendable, Hashable {
    var url: URL
    /// Those that grant access.
    var headers: HeaderFields
  }

  /// Identifies the observers of equal requests.
  private struct Observed: Sendable, Hashable {
    var beginning: Beginning
    var sessions: ObjectIdentifier
  }

  private struct State {
    var sessions: [String: StreamSession] = [:]
    var begun: [Beginning: StreamSession] = [:]
    /// When the stored sessions were last read for a request, in seconds of uptime.
    var lastRead: Double?
    /// The reading for requests that is under way.
    var reading: Task<Void, Never>?
    /// The one that has not begun yet.
    var nextReading: Task<Void, Never>?

    mutating func insert(_ session: StreamSession) {
      begun[Beginning(url: session.url, headers: session.headers)] = session
      sessions[session.id] = session
      guard sessions.count > SessionStore.capacity,
        let oldest = sessions.values.min(by: { $0.secondsOfLastUse < $1.secondsOfLastUse })
      else { return }
      sessions[oldest.id] = nil
      let beginning = Beginning(url: oldest.url, headers: oldest.headers)
      if begun[beginning] === oldest { begun[beginning] = nil }
    }
  }

  private let state = Mutex(State())
  private let saving: SessionSaving?
  private let now: @Sendable () -> Moment
  private let pause: @Sendable (Duration) async -> Void
  private let unclaimed = UnclaimedCookies()
  /// Collects the cookies of manifests' responses to requests without a session and without
  /// credentials.
  let observer: ResponseObserver

  /// - Parameters:
  ///   - saving: where the sessions are kept; nil: in memory alone.
  ///   - now: returns the time.
  ///   - pause: waits between two readings of the stored sessions.
  init(
    saving: SessionSaving? = nil, now: @escaping @Sendable () -> Moment = { .now },
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.saving = saving
    self.now = now
    self.pause = pause
    let unclaimed = unclaimed
    observer = ResponseObserver { source, headers, asked in
      // A stream begins with the URL of the request, or with that of a redirect.
      for url in Set([source, asked]) {
        let beginning = Beginning(url: url, headers: [:])
        unclaimed.note(headers, from: source, for: beginning, at: now().uptime)
      }
    }
  }

  /// Returns an observer that collects the cookies of the responses to a request with credentials:
  /// for a stream that begins with this very request, and for no other one.
  ///
  /// - Parameter headers: the credentials.
  func observer(of headers: HeaderFields, for url: URL) -> ResponseObserver {
    let beginning = Beginning(url: url, headers: headers)
    let identity = Observed(beginning: beginning, sessions: ObjectIdentifier(self))
    return ResponseObserver(identity: identity) { [unclaimed, now] source, headers, _ in
      unclaimed.note(headers, from: source, for: beginning, at: now().uptime)
    }
  }

  /// Returns the session of a stream that began at this URL with these headers; nil if there is
  /// none.
  func begun(with headers: HeaderFields, for url: URL) -> StreamSession? {
    let session = state.withLock { $0.begun[Beginning(url: url, headers: headers)] }
    return session.flatMap { isRemoved($0) ? nil : $0 }
  }

  /// Whether the user has removed everything in this process since the session began.
  private func isRemoved(_ session: StreamSession) -> Bool {
    saving?.isRemovedHere(since: session.begun) ?? false
  }

  func session(_ id: String) -> StreamSession? {
    let session = state.withLock { $0.sessions[id] }
    session?.noteUse(at: now().wall)
    return session
  }

  /// As `session`; an unknown one may have begun in another process meanwhile, from which this one
  /// takes over: the stored ones are then read again, at most once a second. Requests that arrive
  /// meanwhile wait for the same reading.
  func find(_ id: String) async -> StreamSession? {
    if let session = session(id) { return session }
    guard saving != nil else { return nil }
    if let reading = state.withLock({ $0.reading }) {
      await reading.value
      if let session = session(id) { return session }
    }
    // One that was under way may have begun before the session was stored.
    await nextReading().value
    return session(id)
  }

  /// Returns the reading that begins next, at least a second after the last one.
  private func nextReading() -> Task<Void, Never> {
    let now = now().uptime.seconds
    return state.withLock { state in
      if let next = state.nextReading { return next }
      let wait = state.lastRead.map { min(1, $0 + 1 - now) } ?? 0
      let task = Task { [before = state.reading] in
        if wait > 0 { await pause(.seconds(wait)) }
        await before?.value
        beginReading()
        await restore()
        self.state.withLock { $0.reading = nil }
      }
      state.nextReading = task
      return task
    }
  }

  private func beginReading() {
    let now = now().uptime.seconds
    state.withLock { state in
      state.lastRead = now
      (state.reading, state.nextReading) = (state.nextReading, nil)
    }
  }

  /// Stores the sessions, and every change at once from now on: another process takes over.
  func hurry() { saving?.hurry(self) }

  /// Returns the session of a stream that begins at this URL with these headers. A removal by
  /// another process counts once it was noticed (`noticeRemoval`).
  ///
  /// - Parameter start: when the first response came that the session needs; nil: now.
  func begin(
    with headers: HeaderFields, for url: URL, since start: Uptime? = nil
  ) -> StreamSession {
    let beginning = Beginning(url: url, headers: headers)
    let now = now()
    let (session, isNew) = state.withLock { state in
      if let known = state.begun[beginning], !isRemoved(known) { return (known, false) }
      let session = StreamSession(
        id: TokenCheck.random(), headers: headers, for: url, at: now.wall,
        begun: start ?? now.uptime, noteChange: noteChange)
      state.insert(session)
      return (session, true)
    }
    if isNew { saving?.schedule(self, isUrgent: true) }
    return session
  }

  /// Returns and forgets the cookies of the last responses to a request without a session.
  ///
  /// - Parameters:
  ///   - headers: the credentials of the request.
  ///   - url: the URL of the request; of one without credentials, the URL that responded.
  func takeCookies(of headers: HeaderFields, for url: URL) -> [UnclaimedCookies.Response] {
    unclaimed.take(Beginning(url: url, headers: headers))
  }

  // MARK: Restarts

  /// Reads the sessions that an earlier proxy with the same token stored. A known one is replaced
  /// if another proxy has used it since.
  func restore() async {
    guard let saving else { return }
    let now = now()
    let contents = await saving.read(at: now.wall)
    state.withLock { state in
      // The most recently used last, which then continues a stream that began twice.
      for record in contents.records.reversed() {
        guard let url = record.validURL else { continue }
        let use = Int(record.lastUse.timeIntervalSince1970)
        if let known = state.sessions[record.id], known.secondsOfLastUse >= use { continue }
        let session = StreamSession(
          record, url: url, begun: now.uptime, noteChange: noteChange)
        // One that has begun here is newer.
        let known = state.begun[Beginning(url: url, headers: session.headers)]
        state.insert(session)
        if let known, known.id != session.id, state.sessions[known.id] != nil {
          state.insert(known)
        }
      }
    }
    if contents.isOutdated { saving.schedule(self, isUrgent: true) }
  }

  /// Stores the sessions, and stores none that change later.
  func close() async { await saving?.close(with: self) }

  /// Returns once the changes so far are stored.
  func settle() async { await saving?.settle() }

  private var noteChange: @Sendable () -> Void {
    guard let saving else { return {} }
    return { [weak self] in
      if let self { saving.schedule(self) }
    }
  }

  /// Returns the contents to store.
  func all() -> [BegunSession] {
    let now = now().wall
    return state.withLock { Array($0.sessions.values) }.map {
      BegunSession(record: $0.record(at: now), begun: $0.begun)
    }
  }

  /// Retires the sessions that began before the last removal by any process.
  func noticeRemoval() async {
    guard let removal = await saving?.lastRemoval() else { return }
    let begun = state.withLock { Array($0.begun.values) }
    retire(Set(begun.filter { removal.isAfter($0.begun) == true }.map(\.id)))
  }

  /// Continues these sessions for the streams that use them now, and for no stream that begins
  /// later.
  func retire(_ ids: Set<String>) {
    state.withLock { state in
      for session in ids.compactMap({ state.sessions[$0] }) {
        let beginning = Beginning(url: session.url, headers: session.headers)
        if state.begun[beginning] === session { state.begun[beginning] = nil }
      }
    }
  }
}
