// SPDX-License-Identifier: MIT
import RefrainLocks

/// The resource that an entry's requests ask for at present, as the newest reader gave it or as the
/// user's hook replaced it, and the end of its last chain of redirects.
final class AskedResource: Sendable {
  /// The outcome of an authorization.
  enum Authorization: Sendable {
    case none
    /// There is another request to try, for which the hook was called.
    case renewed
    /// There is another request to try, by the hook's answer for another one of the group.
    case shared
  }

  private struct State {
    var resource: Resource
    /// The resource as the latest opener gave it.
    var given: Resource
    /// The number of replacements by the hook.
    var authorization = 0
    var chain: (of: Resource, RedirectPolicy)?
  }

  private let key: CacheKey
  private let isShared: Bool
  private let state: Mutex<State>
  private let authorizations = JoinedCalls<Int, Authorization>()

  /// - Parameter isShared: whether the cache serves several people.
  init(_ resource: Resource, key: CacheKey, isShared: Bool) {
    (self.key, self.isShared) = (key, isShared)
    state = Mutex(State(resource: resource, given: resource))
  }

  var resource: Resource { state.withLock { $0.resource } }

  /// Returns the resource to request, with what the hook has changed for its group, and the number
  /// of its authorization.
  func authorized(by renewals: GroupRenewals) -> (Resource, number: Int) {
    state.withLock { state in
      let renewed = renewals.current(state.resource)
      if renewed != state.resource {
        state.resource = renewed
        state.authorization += 1
      }
      return (state.resource, state.authorization)
    }
  }

  /// Returns the resource that a reader gave for a requested `resource`: the same one, or the one
  /// that the hook replaced; nil if `resource` is no longer current.
  func given(for resource: Resource) -> Resource? {
    state.withLock { $0.resource == resource ? $0.given : nil }
  }

  /// Adopts the newest URL and headers given for the key. In a cache of one person, a request without
  /// credentials does not take away those with which another one goes on.
  func renew(_ resource: Resource) {
    state.withLock { state in
      let resource = isShared ? resource : resource.keepingCredentials(of: state.given)
      // The same resource given again is no newer than the hook's replacement for it.
      guard resource != state.given else { return }
      state.given = resource
      state.resource = resource
    }
  }

  // MARK: Redirects

  /// Returns the last chain of redirects of `resource`; nil if none is recorded. Without an observer,
  /// which has to see the chain, that of another observer's resource will do.
  func chain(for resource: Resource) -> RedirectPolicy? {
    state.withLock { state in
      guard case (var followed, let chain)? = state.chain else { return nil }
      if resource.observer == nil { followed.observer = nil }
      return followed == resource ? chain : nil
    }
  }

  /// Records a chain of redirects.
  ///
  /// - Parameter chain: nil to follow the chain from its start.
  func note(_ chain: RedirectPolicy?, for resource: Resource) {
    state.withLock { $0.chain = chain.map { (resource, $0) } }
  }

  // MARK: Authorization

  /// Asks the user's hook for a replacement request, once for any number of refused fetches. A
  /// cancelled fetch stops waiting for the hook; the last one to leave cancels the hook without
  /// waiting for it.
  ///
  /// - Parameter authorization: the number of the refused request, by `authorized(by:)`.
  /// - Returns: whether there is another request to try.
  /// - Throws: the error of the hook; `CancellationError`.
  func authorize(
    refused authorization: Int, status: Int, by renewals: GroupRenewals
  ) async throws -> Authorization {
    try await authorizations.value(for: authorization) { [weak self, key] in
      guard let (resource, current) = self?.state.withLock({ ($0.resource, $0.authorization) })
      else { throw CancellationError() }
      // The hook has already answered another fetch.
      if current != authorization { return resource.policy.group == nil ? .renewed : .shared }
      guard let renewed = try await renewals.renewed(resource, status) else { return .none }
      // Whoever was refused may have left, and the hook may have been called again.
      try Task.checkCancellation()
      self?.state.withLock { state in
        state.resource = state.resource.replaced(by: renewed.resource)
        state.resource.key = key
        state.authorization += 1
      }
      return renewed.isShared ? .shared : .renewed
    }
  }
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
