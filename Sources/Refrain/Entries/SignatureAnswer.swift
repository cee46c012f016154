// SPDX-License-Identifier: MIT
import Foundation

/// Identifies equal requests that ask the origin about a signature, which are sent once
/// (`SignatureConfirmation`). Requests with other headers may select another representation.
struct SignatureQuestion: Sendable, Hashable {
  private var url: URL
  private var headers: HeaderFields
  private var filter: URLFilter?

  init(_ resource: Resource) {
    (url, headers, filter) = (resource.url, resource.headers, resource.filter)
  }
}

/// What the origin says of a URL with another signature.
enum SignatureAnswer: Sendable {
  /// The URL has the stored bytes, and further requests may use the resource's URL and headers. Its
  /// key, filter, observer and policy are those of one of the readers that asked: callers keep
  /// their own (`Resource.replaced(by:)`).
  case same(Resource)
  /// The URL has other bytes, or nothing shows that they are the same.
  case different
  /// The origin could not be asked.
  case unanswered
  case failed(MediaCacheError)
}
