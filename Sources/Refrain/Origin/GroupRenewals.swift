// SPDX-License-Identifier: MIT
import RefrainLocks

/// The answers of the user's hook for the groups of a cache: one answer renews all requests of a
/// group. Kept in memory only, since headers and parameters are secrets. In a cache for several
/// people, where requests of one group have different rights, nothing is shared.
///
/// All methods may be called from any thread.
final class GroupRenewals: Sendable {
  typealias Hook = @Sendable (Resource, _ status: Int) async throws -> Resource?

  struct Renewed: Sendable {
    var resource: Resource
    /// Whether the hook was called for another request of the group: this one may have rights of
    /// its own, for which it has not been called.
    var isShared: Bool
  }

  private enum Call: Sendable, Hashable {
    case group(CacheKey)
    case resource(Resource)
  }

  private struct Answer: Sendable {
    var refused: Resource
    /// Nil if the hook gave up.
    var renewed: Result<Renewed?, any Error>
  }

  private struct State {
    var renewals: [CacheKey: [GroupRenewal]] = [:]
    /// The groups, the most recently renewed last.
    var order: [CacheKey] = []
  }

  static let mostGroups = 64
  static let mostRenewals = 16

  private let isSharing: Bool
  private let state = Mutex(State())
  private let calls = JoinedCalls<Call, Answer>()

  init(isSharing: Bool) { self.isSharing = isSharing }

  /// Returns the resource with all that the hook has changed for its group.
  func current(_ resource: Resource) -> Resource {
    guard isSharing, let group = resource.policy.group?.first else { return resource }
    let renewals = state.withLock { $0.renewals[group] } ?? []
    return renewals.reduce(resource) { $1.applied(to: $0) }
  }

  /// Returns the renewal of a refused request: what the hook has already changed for its group,
  /// or else the hook's answer. Concurrent refusals of a group wait for one call.
  ///
  /// - Returns: nil if the hook gives up.
  /// - Throws: the error of the hook; `CancellationError`.
  func renewed(
    _ refused: Resource, _ status: Int, by hook: @escaping Hook
  ) async throws -> Renewed? {
    guard isSharing, let group = refused.policy.group?.first else {
      return try await hook(refused, status).map {
        Renewed(resource: refused.replaced(by: $0), isShared: false)
      }
    }
    if let known = shared(refused) { return known }
    let answer = try await calls.value(for: .group(group)) {
      // The call before this one may have ended in the meantime.
      if let known = self.shared(refused) {
        return Answer(refused: refused, renewed: .success(known))
      }
      return await self.ask(refused, status, group, hook)
    }
    if answer.refused == refused { return try answer.renewed.get() }
    if let known = shared(refused) { return known }
    // The answer is not for this request. Others of its kind do not wait for each other.
    let own = try await calls.value(for: .resource(refused)) {
      await self.ask(refused, status, group, hook)
    }
    return try own.renewed.get()
  }

  private func shared(_ refused: Resource) -> Renewed? {
    let now = current(refused)
    return now == refused ? nil : Renewed(resource: now, isShared: true)
  }

  private func ask(
    _ refused: Resource, _ status: Int, _ group: CacheKey, _ hook: Hook
  ) async -> Answer {
    do {
      guard let answer = try await hook(refused, status) else {
        return Answer(refused: refused, renewed: .success(nil))
      }
      let renewed = refused.replaced(by: answer)
      if let renewal = GroupRenewal(from: refused, to: renewed) { record(renewal, of: group) }
      return Answer(
        refused: refused, renewed: .success(Renewed(resource: renewed, isShared: false)))
    } catch {
      return Answer(refused: refused, renewed: .failure(error))
    }
  }

  private func record(_ renewal: GroupRenewal, of group: CacheKey) {
    state.withLock { state in
      state.renewals[group, default: []].removeAll { $0 == renewal }
      let all = state.renewals[group, default: []] + [renewal]
      state.renewals[group] = all.suffix(Self.mostRenewals)
      state.order.removeAll { $0 == group }
      state.order.append(group)
      if state.order.count > Self.mostGroups {
        state.renewals[state.order.removeFirst()] = nil
      }
    }
  }
}

extension Resource {
  /// Returns the hook's answer for this resource, which stays the same one.
  func replaced(by answer: Resource) -> Resource {
    var next = self
    (next.url, next.headers) = (answer.url, answer.headers)
    return next
  }
}
