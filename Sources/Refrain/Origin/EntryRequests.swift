// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What an entry's requests ask for and have brought. May be used from any thread.
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

  /// Returns what a reader gave for a requested `resource`; nil if that is no longer current.
  func given(for resource: Resource) -> Resource? {
    state.withLock { $0.resource == resource ? $0.given : nil }
  }

  /// Adopts the newest URL and headers given for the key. In a cache of one person, a request
  /// without credentials takes nothing away from one that goes on with some.
  func renew(_ resource: Resource) {
    state.withLock { state in
      let keepsCredentials =
        !origin.isShared && Credentials.of(resource) == nil && Credentials.of(state.given) != nil
        && WebOrigin.isOne(of: resource.url, state.given.url)
      // The same resource given again is no newer than the hook's replacement for it.
      guard resource != state.given, !keepsCredentials else { return }
      state.given = resource
      state.resource = resource
    }
  }

  /// Returns the resource to request, with what the hook has changed.
  func authorized() -> Resource {
    state.withLock { state in
      let group = group(of: state.resource)
      state.resource = origin.withMemory { $0.renewals.filter { $0.group == group } }
        .reduce(state.resource) { $1.applied(to: $0, isShared: origin.isShared) }
      return state.resource
    }
  }

  /// In a cache for several people, requests have different rights.
  private func group(of resource: Resource) -> CacheKey {
    origin.isShared ? key : resource.policy.group?.first ?? key
  }

  /// The last chain of redirects that led to a resource.
  var chain: (of: Resource, RequestChain)? {
    get { state.withLock { $0.chain } }
    @inline(never)
    set { state.withLock { $0.chain = newValue } }
  }

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

extension EntryRequests {
  /// Renews a refused request by what the hook has already changed, or by asking it; one call
  /// runs at a time for a group. Returns whether there is another request to try.
  func authorize(insteadOf refused: Resource, status: Int) async throws -> Bool {
    guard let hook = origin.authorize else { return false }
    let group = group(of: refused)
    while authorized().isAsked(as: refused) {
      let call = try await origin.authorizations.value(for: group) { () -> Origin.Authorization in
        // The call before this one may have ended in the meantime.
        guard self.authorized().isAsked(as: refused) else { return (refused, true) }
        guard let renewed = try await Self.ask(hook, refused, status) else {
          return (refused, false)
        }
        // Whoever was refused may have left, and the hook may have been called again.
        try Task.checkCancellation()
        let renewal = Renewal(group: group, old: refused, new: renewed)
        // At once: the answers for other requests may push it out before this one is repeated.
        self.state.withLock {
          $0.resource = renewal.applied(to: $0.resource, isShared: self.origin.isShared)
        }
        self.origin.withMemory { $0.renewals = $0.renewals.suffix(Renewal.most - 1) + [renewal] }
        return (refused, true)
      }
      // An answer for another request may have renewed this one too, or it needs one of its own.
      if call.refused.isAsked(as: refused) { return call.isRenewed }
    }
    return true
  }

  private static func ask(
    _ hook: Origin.Authorize, _ refused: Resource, _ status: Int
  ) async throws -> Resource? {
    do {
      return try await hook(refused, status)
    } catch {
      // A cancelled hook fails with an error of its own, such as `URLError.cancelled`. One that
      // nobody has cancelled may throw `CancellationError`, too: requests wait for its error.
      if Task.isCancelled { throw CancellationError() }
      if var problem = error as? MediaCacheError {
        // Another cache that has thrown it has tried again itself.
        problem.retry = nil
        throw problem
      }
      let what = "The origin answered \(status), and the authorization failed: \(error)."
      // An error of the network is no refusal: the request may be tried again.
      throw error is URLError || error is TransportError
        ? MediaCacheError(.unreachable, what, remedy: "Check the network.")
        : MediaCacheError(.status, what, status: status)
    }
  }
}

/// What the hook has changed in a request, for that request and others of its group. A pure value.
struct Renewal: Sendable {
  /// Of all groups together; the newest are kept.
  static let most = 16

  let group: CacheKey
  let old: Resource
  let new: Resource

  /// Returns the renewed request for the refused one. Another one to the same origin receives the
  /// new headers and parameters if it has the old ones: others are newer, or rights of its own.
  func applied(to resource: Resource, isShared: Bool = false) -> Resource {
    var resource = resource
    if resource.isAsked(as: old) {
      (resource.url, resource.headers) = (new.url, new.headers)
      return resource
    }
    // A new path is that of one resource, and a request to another origin has secrets of that one.
    guard !isShared, let origin = WebOrigin(resource.url), origin == WebOrigin(old.url),
      origin == WebOrigin(new.url)
    else { return resource }
    for name in Set((old.headers.fields + new.headers.fields).map { $0.name.lowercased() })
    where old.headers[name] != new.headers[name] && resource.headers[name] == old.headers[name] {
      resource.headers[name] = new.headers[name]
    }
    func parts(_ resource: Resource) -> (url: URIReference, parameters: [Substring]) {
      var url = URIReference(resource.url.absoluteString)
      let parameters = (url.query ?? "").split(separator: "&", omittingEmptySubsequences: false)
      (url.query, url.fragment) = (nil, nil)
      return (url, parameters)
    }
    var (asked, before, after) = (parts(resource), parts(old), parts(new))
    let values = Dictionary(zip(before.parameters, after.parameters)) { first, _ in first }
    let changed = values.filter { $0.key != $0.value }
    // Nothing but values may differ, and equal parameters must have stayed equal. They belong
    // together, as in a signature.
    func name(_ parameter: Substring) -> Substring { parameter.prefix { $0 != "=" } }
    guard !changed.isEmpty, changed.allSatisfy({ name($0.key) == name($0.value) }),
      before.url == after.url, before.parameters.map({ values[$0] }) == after.parameters,
      changed.keys.allSatisfy(asked.parameters.contains)
    else { return resource }
    asked.url.query = asked.parameters.map { changed[$0] ?? $0 }.joined(separator: "&")
    let url = URL(string: asked.url.textWithoutFragment, encodingInvalidCharacters: false)
    resource.url = url ?? resource.url
    return resource
  }
}
