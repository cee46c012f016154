// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// What a shared cache keeps in memory, beside its entries: responses that bring no resource, such
/// as a 404 or a redirect, for as long as the origin permits their reuse (RFC 9111 §3), and what
/// may have changed since. Whatever is forgotten is requested again. May be used from any thread.
final class SharedMemory: Sendable {
  struct Response: Sendable {
    let status: Int
    /// Other URLs may share the key: a refusal may be for a token that the key ignores.
    let url: URL
    let fields: HeaderFields
    let body: Data
    let requestTime: Date
    let freshness: Freshness
    /// A hash of what Vary names in the answered request.
    let variant: String?
  }

  private struct State {
    var responses: [CacheKey: Response] = [:]
    /// The times of requests that may have changed a resource (RFC 9111 §4.4).
    var changes: [CacheKey: Date] = [:]
    /// Changes before this time are unknown; responses to earlier requests are not kept.
    var changesSince: Date

    func lastChange(of key: CacheKey) -> Date { changes[key] ?? changesSince }
  }

  private static let mostResponses = 1024
  /// In bytes, of the fields and the body.
  private static let longestResponse = 8 << 10
  private static let mostChanges = 4096

  private let state: Mutex<State>

  init(since start: Date) { state = Mutex(State(changesSince: start)) }

  /// Keeps a response if the origin permits that.
  func insert(_ response: HandedResponse, on key: CacheKey, for resource: Resource) {
    guard let (freshness, fields) = response.reuse(),
      fields.fields.reduce(response.body.count, { $0 + $1.name.utf8.count + $1.value.utf8.count })
        <= Self.longestResponse
    else { return }
    let stored = Response(
      status: response.status, url: resource.url, fields: fields, body: response.body,
      requestTime: response.requestTime, freshness: freshness,
      variant: Variant.of(resource.headers, names: Variant.names(in: fields)))
    state.withLock { state in
      guard response.requestTime > state.changesSince else { return }
      if state.responses.count >= Self.mostResponses { state.responses = [:] }
      state.responses[key] = stored
    }
  }

  /// Returns a response that may be used without asking the origin. Forgets one that may not: the
  /// origin's next response replaces it. `resourceKey` is the key without the request's
  /// credentials.
  func response(
    on key: CacheKey, for resource: Resource, _ resourceKey: CacheKey, on terms: ReadTerms,
    at now: Date
  ) -> Response? {
    var terms = terms
    // Nobody confirms a stale one.
    terms.followsStaleDirectives = false
    return state.withLock { [terms] state -> Response? in
      guard let stored = state.responses[key], stored.url == resource.url,
        stored.variant == Variant.of(resource.headers, names: Variant.names(in: stored.fields)),
        !terms.hasCookies || CacheControl(stored.fields, isShared: true).isForEverybody
      else { return nil }
      if stored.requestTime > state.lastChange(of: resourceKey),
        terms.accept(stored.freshness, at: now)
      {
        return stored
      }
      state.responses[key] = nil
      return nil
    }
  }

  /// Forgets all responses, and notes that every resource may have changed.
  func removeAll(at now: Date) { state.withLock { $0 = State(changesSince: now) } }

  /// Notes that a resource may have changed. Responses stored under keys with credentials learn it
  /// from here alone: the request that has changed it does not know those keys.
  func noteChange(of key: CacheKey, at now: Date) {
    state.withLock { state in
      if state.changes.count >= Self.mostChanges {
        (state.changes, state.changesSince) = ([:], now)
      }
      state.changes[key] = now
    }
  }

  /// Responses to requests until then must be confirmed before they are used.
  func lastChange(of key: CacheKey) -> Date { state.withLock { $0.lastChange(of: key) } }
}
