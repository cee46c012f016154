// SPDX-License-Identifier: MIT
import Foundation

/// Asks the origin whether requests with new credentials may use the stored bytes: one conditional
/// request with them, so that tokens may rotate without a second fetch, and nobody receives bytes
/// that the origin would refuse.
struct Admission: Sendable {
  let entry: Entry
  let generation: Generation
  let resource: Resource
  /// Whether the reader passes on an error response.
  var passesOnErrors = false

  enum Outcome: Sendable, Equatable {
    /// The credentials may, and further requests may use them.
    case granted(Resource)
    /// The origin has another response for these credentials.
    case different
    case failed(MediaCacheError)
  }

  func ask() async throws -> Outcome {
    let renewals = entry.context.renewals
    var asked = renewals.current(resource)
    var attempts = OriginExchange.mostAuthorizations
    while true {
      let outcome = await ask(asked)
      try Task.checkCancellation()
      guard attempts > 0, case .failed(let error) = outcome, let status = error.status,
        [401, 403, 410].contains(status),
        let hook = entry.context.authorize,
        let renewed = try await renewals.renewed(asked, status, by: hook)
      else { return outcome }
      asked = renewed.resource
      attempts = renewed.isShared ? attempts - 1 : 0
    }
  }

  private func ask(_ resource: Resource) async -> Outcome {
    let (known, isNoPage, ranges) = generation.withState { state in
      let known = ResponseCheck.Known(
        length: state.length, validator: state.validator,
        isPage: MediaType.isPage(state.info?.mimeType))
      return (known, state.isNoPage(at: resource.url), state.ranges)
    }
    var headers = known.validator.conditional
    if ranges == .answered { headers.append("Range", RangeHeader.value(0, to: 1)) }
    let check = ResponseCheck(asked: 0..<1, known: known, isNoPage: isNoPage)
    let exchange = OriginExchange(
      entry: entry, headers: headers, purpose: .playback, isConfirmation: true, candidate: resource)
    let context = entry.context
    return await exchange.run { response in
      let verdict = check.verdict(
        status: response.status, headers: response.headers, now: context.now.wall)
      switch verdict {
      case .notModified: break
      case .part(_, let facts), .whole(let facts):
        switch known.validator.matches(facts.validator) {
        case .same, .weaklySame: break
        case .different, .unknown: return .different
        }
      case .changed: return .different
      case .beyondEnd(let length):
        guard length == 0, known.length == 0 else { return .different }
      case .refused(let status):
        return .failed(await keeping(response, in: ResponseCheck.refusal(status), exchange))
      case .failed(let error): return .failed(await keeping(response, in: error, exchange))
      case .transient(let error, _), .invalid(let error): return .failed(error)
      }
      generation.withState { $0.grant(to: [Credentials.of(self.resource)] + response.credentials) }
      return .granted(resource)
    } failure: { error, _ in
      .failed(Self.unasked(error))
    } cancelled: {
      .failed(MediaCacheError(.closed, "The request was cancelled."))
    }
  }

  private func keeping(
    _ response: OriginExchange.Response, in failure: MediaCacheError, _ exchange: OriginExchange
  ) async -> MediaCacheError {
    guard passesOnErrors else { return failure }
    return await exchange.keeping(response, to: resource, in: failure)
  }

  private static func unasked(_ error: MediaCacheError) -> MediaCacheError {
    guard error.code == .unreachable else { return error }
    var explained = error
    explained.reason =
      "The stored response was received with other credentials, and the origin could not confirm "
      + "access with these: \(error.reason)"
    explained.remedy = "Try again later, or set a key for the resource if both are one account's."
    return explained
  }
}
