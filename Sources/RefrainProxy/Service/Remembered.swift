// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Responses that bring no resource, such as a 404 or a redirect, for as long as the origin permits a
/// shared cache to reuse them (RFC 9111 §3). In memory, since they are short and soon stale: whatever
/// is forgotten is requested again. May be used from any thread.
final class SmallResponses: Sendable {
  struct Stored: Sendable {
    let status: Int
    /// The URL that was requested, of which the key may be that of others too: a refusal may be for a
    /// token that the key ignores.
    let url: URL
    /// Without those of the message.
    let fields: HeaderFields
    let body: Data
    let requestTime: Date
    let freshness: Freshness
    /// Whether requests with cookies may receive it.
    let isForEverybody: Bool
    /// The names in Vary, and a hash of their values in the answered request.
    let varying: [String]
    let variant: String?

    /// In bytes, about.
    fileprivate var size: Int {
      fields.fields.reduce(body.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
  }

  private struct State {
    var responses: [CacheKey: Stored] = [:]
    var bytes = 0
    /// Responses to earlier requests are not kept.
    var since = Date.distantPast

    mutating func remove(_ key: CacheKey) {
      bytes -= responses.removeValue(forKey: key)?.size ?? 0
    }
  }

  private static let capacity = 1024
  private static let mostBytes = 8 << 20

  private let state = Mutex(State())

  /// Keeps a response if the origin permits that.
  ///
  /// - Parameter resource: that of the answered request.
  func insert(_ response: ErrorResponse, on key: CacheKey, for resource: Resource) {
    guard let (freshness, fields) = response.reuse() else { return }
    let varying = Variant.names(in: fields)
    let stored = Stored(
      status: response.status, url: resource.url, fields: fields, body: response.body,
      requestTime: response.requestTime, freshness: freshness,
      isForEverybody: CacheControl.isForEverybody(fields), varying: varying,
      variant: Variant.of(resource.headers, names: varying))
    state.withLock { state in
      guard response.requestTime > state.since else { return }
      state.remove(key)
      if state.responses.count >= Self.capacity || state.bytes > Self.mostBytes {
        (state.responses, state.bytes) = ([:], 0)
      }
      state.responses[key] = stored
      state.bytes += stored.size
    }
  }

  /// Returns a response that may be used for a request without asking the origin. One that may not is
  /// forgotten: the origin's next response replaces it.
  ///
  /// - Parameter changed: responses to requests until then must not be used (RFC 9111 §4.4).
  func response(
    on key: CacheKey, for resource: Resource, on terms: ReadTerms, changed: Date, at now: Date
  ) -> Stored? {
    var terms = terms
    // Nobody confirms a stale one.
    terms.followsStaleDirectives = false
    return state.withLock { [terms] state -> Stored? in
      guard let stored = state.responses[key], stored.url == resource.url,
        stored.variant == Variant.of(resource.headers, names: stored.varying),
        stored.isForEverybody || !terms.hasCookies
      else { return nil }
      if stored.requestTime > changed, terms.accept(stored.freshness, at: now) {
        return stored
      }
      state.remove(key)
      return nil
    }
  }

  func remove(_ key: CacheKey) { state.withLock { $0.remove(key) } }

  /// Forgets all responses, and those that answer requests made until now.
  func removeAll(at now: Date) { state.withLock { $0 = State(since: now) } }
}

/// What was found out a moment ago, by what it is about. May be used from any thread.
final class RecentNotes<Subject: Hashable & Sendable, Note: Sendable>: Sendable {
  private let capacity: Int
  /// In seconds; a note shows nothing any more after it.
  private let patience: Double
  private let notes = Mutex<[Subject: (note: Note, time: Uptime)]>([:])

  init(capacity: Int, patience: Double) {
    (self.capacity, self.patience) = (capacity, patience)
  }

  func insert(_ note: Note, on subject: Subject, at now: Uptime) {
    notes.withLock { notes in
      // What is forgotten is found out again.
      if notes.count >= capacity, notes[subject] == nil { notes = [:] }
      notes[subject] = (note, now)
    }
  }

  /// Returns what was found out lately; nil if nothing was.
  func note(on subject: Subject, at now: Uptime) -> Note? {
    notes.withLock { notes in
      guard let (note, time) = notes[subject], let elapsed = now.seconds(since: time),
        elapsed < patience
      else { return nil }
      return note
    }
  }
}

/// The times of requests that may have changed a resource (RFC 9111 §4.4), for responses stored
/// under keys with credentials: such a request does not know those keys.
final class Invalidations: Sendable {
  private static let capacity = 4096

  private struct State {
    var times: [CacheKey: Date] = [:]
    /// Earlier changes are unknown.
    var since: Date
  }

  private let state: Mutex<State>

  init(since: Date) { state = Mutex(State(since: since)) }

  func insert(_ key: CacheKey, at now: Date) {
    state.withLock { state in
      if state.times.count >= Self.capacity { state = State(since: now) }
      state.times[key] = now
    }
  }

  /// Returns the time of the last change: responses stored until then must be confirmed.
  func last(of key: CacheKey) -> Date {
    state.withLock { $0.times[key] ?? $0.since }
  }
}
