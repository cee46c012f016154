// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// An entry's requests to the origin: the resource that they ask for at present, as the newest reader
/// gave it or as the user's hook replaced it, the end of its last chain of redirects, and what they
/// brought while the entry was open. May be used from any thread.
final class EntryRequests: Sendable {
  private struct State {
    var resource: Resource
    /// The resource as the latest opener gave it.
    var given: Resource
    var chain: (of: Resource, RequestChain)?
    var sums: (received: Int64, requests: Int) = (0, 0)
  }

  let key: CacheKey
  let origin: Origin
  private let events: EventStreams
  private let state: Mutex<State>

  init(_ resource: Resource, key: CacheKey, to origin: Origin, events: EventStreams) {
    (self.key, self.origin, self.events) = (key, origin, events)
    state = Mutex(State(resource: resource, given: resource))
  }

  var resource: Resource { state.withLock { $0.resource } }

  /// Returns the resource that a reader gave for a requested `resource`: the same one, or the one
  /// that the hook replaced; nil if `resource` is no longer current.
  func given(for resource: Resource) -> Resource? {
    state.withLock { $0.resource == resource ? $0.given : nil }
  }

  /// Adopts the newest URL and headers given for the key. In a cache of one person, a request without
  /// credentials does not take away those with which another one goes on.
  func renew(_ resource: Resource) {
    state.withLock { state in
      let resource = origin.isShared ? resource : resource.keepingCredentials(of: state.given)
      // The same resource given again is no newer than the hook's replacement for it.
      guard resource != state.given else { return }
      state.given = resource
      state.resource = resource
    }
  }

  // MARK: Authorization

  /// Returns the resource to request, with what the hook has changed for its group.
  func authorized() -> Resource {
    state.withLock { state in
      state.resource = origin.renewed(state.resource)
      return state.resource
    }
  }

  /// Adopts the hook's answer for a refused request, unless another one has taken its place.
  func adopt(_ answer: Resource, insteadOf refused: Resource) {
    state.withLock { state in
      guard state.resource.isAsked(as: refused) else { return }
      state.resource = state.resource.replaced(by: answer)
      state.resource.key = key
    }
  }

  // MARK: Redirects

  /// Returns the last chain of redirects of `resource`; nil if none is recorded. Without an observer,
  /// which has to see the chain, that of another observer's resource will do.
  func chain(for resource: Resource) -> RequestChain? {
    state.withLock { state in
      guard case (var followed, let chain)? = state.chain else { return nil }
      if resource.observer == nil { followed.observer = nil }
      return followed == resource ? chain : nil
    }
  }

  func note(_ chain: RequestChain, for resource: Resource) {
    state.withLock { $0.chain = (resource, chain) }
  }

  /// Has the chain followed from its start.
  func forgetChain() { state.withLock { $0.chain = nil } }

  // MARK: Traffic

  func countReceived(_ bytes: Int) {
    state.withLock { $0.sums.received += Int64(bytes) }
    origin.counters.originBytes.add(Int64(bytes), ordering: .relaxed)
    events.sendTraffic(.received(key, bytes))
  }

  func countRequest() {
    state.withLock { $0.sums.requests += 1 }
    origin.counters.originRequests.add(1, ordering: .relaxed)
  }

  var sums: (received: Int64, requests: Int) { state.withLock { $0.sums } }
}

extension Resource {
  /// Returns the resource with the credentials of an earlier one, if it has none of its own.
  fileprivate func keepingCredentials(of earlier: Resource) -> Resource {
    guard Credentials.of(self) == Credentials.none, Credentials.of(earlier) != Credentials.none,
      WebOrigin.isOne(of: url, earlier.url)
    else { return self }
    var next = self
    next.headers["Authorization"] =
      earlier.headers["Authorization"] ?? earlier.url.basicAuthorization
    return next
  }
}
