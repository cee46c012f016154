// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What an entry's requests ask for at present, the end of their last chain of redirects, and what
/// they brought while the entry was open. May be used from any thread.
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

  func chain(for resource: Resource) -> RequestChain? {
    state.withLock { $0.chain?.of == resource ? $0.chain?.1 : nil }
  }

  func note(_ chain: RequestChain, for resource: Resource) {
    state.withLock { $0.chain = (resource, chain) }
  }

  func forgetChain() { state.withLock { $0.chain = nil } }

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
  fileprivate func keepingCredentials(of earlier: Resource) -> Resource {
    guard Credentials.of(self) == Credentials.none, Credentials.of(earlier) != Credentials.none,
      WebOrigin.isOne(of: url, earlier.url)
    else { return self }
    var next = self
    next.headers["Authorization"] =
      earlier.headers["Authorization"] ?? earlier.url.basicAuthorization
    return next
  }

  fileprivate func replaced(by answer: Resource) -> Resource {
    var next = self
    (next.url, next.headers) = (answer.url, answer.headers)
    return next
  }
}

/// Asks the user's hook for a request in place of a refused one, once for any number of refused fetches
/// of a resource, and once for all requests of a group, which its answer renews. In a cache for
/// several people, where requests of one group have different rights, nothing is shared.
extension EntryRequests {
  typealias HookResult = (refused: Resource, renewed: Resource?)

  /// Renews a refused request of `authorized`: by what the hook has already changed, or else by
  /// asking it. One call runs at a time for a group, or for a resource of none.
  ///
  /// - Returns: whether there is another request to try.
  func authorize(insteadOf refused: Resource, status: Int) async throws -> Bool {
    guard let hook = origin.authorize else { return false }
    let group = origin.group(of: refused)
    while authorized().isAsked(as: refused) {
      let answer = try await origin.authorizations.value(for: group ?? key) { () -> HookResult? in
        // The call before this one may have ended in the meantime.
        guard self.authorized().isAsked(as: refused) else { return nil }
        guard let renewed = try await Self.ask(hook, refused, status) else {
          return (refused, nil)
        }
        // Whoever was refused may have left, and the hook may have been called again.
        try Task.checkCancellation()
        // Before another fetch of the resource can ask.
        self.adopt(renewed, insteadOf: refused)
        // Afterwards: the resource takes the whole answer, not what its group may share of it.
        if let group, let renewal = GroupRenewal(of: group, from: refused, to: renewed) {
          self.origin.withMemory {
            $0.renewals = ($0.renewals + [renewal]).suffix(GroupRenewal.most)
          }
        }
        return (refused, renewed)
      }
      // An answer for another request may have renewed this one too, or it needs one of its own.
      guard let answer, answer.refused.isAsked(as: refused) else { continue }
      guard let renewed = answer.renewed else { return false }
      // The call may have been made for another entry with the same request.
      adopt(renewed, insteadOf: refused)
      return true
    }
    return true
  }

  private static func ask(
    _ hook: Origin.Authorize, _ refused: Resource, _ status: Int
  ) async throws -> Resource? {
    do {
      return try await hook(refused, status).map { refused.replaced(by: $0) }
    } catch {
      // A cancelled hook fails with an error of its own, such as `URLError.cancelled`. One that
      // nobody has cancelled may throw `CancellationError`, too: requests wait for its error.
      if Task.isCancelled { throw CancellationError() }
      if var error = error as? MediaCacheError {
        // Another cache may have thrown it, which would have tried again.
        error.retry = nil
        throw error
      }
      let what = "The origin answered \(status), and the authorization failed: \(error)."
      // An error of the network is no refusal: the request may be tried again.
      throw error is URLError || error is TransportError
        ? MediaCacheError(.unreachable, what, remedy: "Check the network.")
        : MediaCacheError(.status, what, status: status)
    }
  }
}

extension Origin {
  fileprivate func group(of resource: Resource) -> CacheKey? {
    isShared ? nil : resource.policy.group?.first
  }

  func renewed(_ resource: Resource) -> Resource {
    guard let group = group(of: resource) else { return resource }
    return withMemory { $0.renewals.filter { $0.group == group } }
      .reduce(resource) { $1.applied(to: $0) }
  }
}

/// What the hook has changed in a request of a group, for its other requests. A pure value.
struct GroupRenewal: Sendable {
  /// The newest ones that are kept, of all groups together.
  static let most = 64

  let group: CacheKey
  private let origin: WebOrigin
  private let headers: [(name: String, old: String?, new: String?)]
  /// The changed parameters, as spelled, by the old ones. They belong together, as in a signature.
  private var parameters: [String: String] = [:]

  /// - Returns: nil if nothing was changed, or nothing that other requests may have: a new path is
  ///   that of one resource, and a request to another origin has secrets of that origin.
  init?(of group: CacheKey, from old: Resource, to new: Resource) {
    guard let origin = WebOrigin(old.url), origin == WebOrigin(new.url) else { return nil }
    (self.group, self.origin) = (group, origin)
    let names = Set((old.headers.fields + new.headers.fields).map { $0.name.lowercased() })
    headers = names.sorted()
      .map { ($0, old.headers[$0], new.headers[$0]) }
      .filter { $0.1 != $0.2 }
    var (before, after) = (
      URIReference(old.url.absoluteString), URIReference(new.url.absoluteString)
    )
    let (asked, renewed) = (Self.parameters(before), Self.parameters(after))
    (before.query, after.query) = (nil, nil)
    func label(_ parameter: String) -> Substring { parameter.prefix { $0 != "=" } }
    let values = Dictionary(zip(asked, renewed)) { first, _ in first }
    // Nothing but values may differ, and equal parameters must have stayed equal.
    if before.textWithoutFragment == after.textWithoutFragment,
      asked.map(label) == renewed.map(label), asked.compactMap({ values[$0] }) == renewed
    {
      parameters = values.filter { $0.key != $0.value }
    }
    if headers.isEmpty, parameters.isEmpty { return nil }
  }

  private static func parameters(_ url: URIReference) -> [String] {
    (url.query ?? "").split(separator: "&", omittingEmptySubsequences: false).map { String($0) }
  }

  /// Returns the resource with the new headers and parameters, if it has the old ones: others are
  /// newer, or rights of its own. A header is added only if the renewed request had none.
  func applied(to resource: Resource) -> Resource {
    guard WebOrigin(resource.url) == origin else { return resource }
    var resource = resource
    for change in headers where resource.headers[change.name] == change.old {
      resource.headers[change.name] = change.new
    }
    var reference = URIReference(resource.url.absoluteString)
    let sent = Self.parameters(reference)
    guard !parameters.isEmpty, parameters.keys.allSatisfy(sent.contains) else { return resource }
    reference.query = sent.map { parameters[$0] ?? $0 }.joined(separator: "&")
    let url = URL(string: reference.textWithoutFragment, encodingInvalidCharacters: false)
    resource.url = url ?? resource.url
    return resource
  }
}
