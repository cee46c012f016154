// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The documents (`DocumentRules`) to which redirects have led a moment ago, for the next request to
/// their own URLs: the references in a document are relative to that URL, so a proxy redirects its
/// clients there, and a download stores it there as well.
///
/// All methods may be called from any thread.
final class RedirectedResponses: Sendable {
  typealias Response = OriginExchange.Response

  /// A client that is redirected comes at once.
  private static let patience: TimeInterval = 5
  private static let capacity = 16

  /// By their URLs.
  private let known = Mutex<[URL: Response]>([:])

  /// Returns a response with a body that is kept here once it has come as a whole, if it is that of
  /// a document and may be stored; other responses as they are.
  func noting(_ response: Response) -> Response {
    let url = response.url
    let type = MediaType.essence(response.headers["Content-Type"])
    let length = response.wholeLength
    guard let rules = response.request.documents, response.isWhole, length ?? 0 <= rules.longest
    else { return response }
    let isNamed = rules.isDocument(mimeType: type, url: url)
    guard isNamed || rules.mayBeUnnamed(mimeType: type),
      !CacheControl(response.headers["Cache-Control"]).noStore,
      response.headers["Vary"]?.contains("*") != true
    else { return response }
    var noted = response
    noted.body = CopiedBody(body: response.body, length: length, longest: rules.longest) {
      [self] body in
      guard isNamed || rules.isDocument(body, at: url) else { return }
      var kept = response
      kept.hasMore = nil
      kept.body = AsyncThrowingStream<Data, any Error> { continuation in
        if !body.isEmpty { continuation.yield(body) }
        continuation.finish()
      }
      known.withLock { known in
        known = known.filter { Self.isUsable($0.value, at: response.responseTime) }
        if known.count < Self.capacity { known[url] = kept }
      }
    }
    return noted
  }

  private static func isUsable(_ response: Response, at now: Date) -> Bool {
    (0..<patience).contains(now.timeIntervalSince(response.responseTime))
  }

  /// Returns and forgets the response to a request that would bring the same one again; nil if none
  /// is kept for this request.
  func take(for request: OriginRequest, at now: Date) -> Response? {
    guard request.headers["Range"]?.hasPrefix("bytes=0-") != false else { return nil }
    return known.withLock { known in
      guard let found = known[request.url], Self.isUsable(found, at: now),
        found.request.requiresPublicAddress || !request.requiresPublicAddress,
        found.request.headers.grantingAccess == request.headers.grantingAccess
      else { return nil }
      let names = Variant.names(in: found.headers)
      guard
        Variant.of(found.request.headers, names: names) == Variant.of(request.headers, names: names)
      else { return nil }
      known[request.url] = nil
      return found
    }
  }
}

/// A body of which a copy is made while it is read.
private struct CopiedBody: AsyncSequence, Sendable {
  typealias Element = Data
  typealias Failure = any Error

  var body: any AsyncSequence<Data, any Error> & Sendable
  /// Nil if its end shows it.
  var length: Int64?
  var longest: Int64
  /// Receives the copy, before the last bytes are returned. Not called for one that is cut short, or
  /// longer than `longest`.
  var whole: @Sendable (Data) -> Void

  struct Iterator: AsyncIteratorProtocol {
    var body: any AsyncIteratorProtocol<Data, any Error>
    let length: Int64?
    let longest: Int64
    let whole: @Sendable (Data) -> Void
    var copy: Data? = Data()

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      let chunk = try await body.next(isolation: actor)
      if let chunk { copy?.append(chunk) }
      guard let copy else { return chunk }
      if Int64(copy.count) > longest {
        self.copy = nil
      } else if length.map({ $0 == Int64(copy.count) }) ?? (chunk == nil) {
        self.copy = nil
        whole(copy)
      }
      return chunk
    }
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(body: body.makeAsyncIterator(), length: length, longest: longest, whole: whole)
  }
}

extension DocumentRules {
  /// Whether a whole body is that of a document, by its content alone.
  fileprivate func isDocument(_ body: Data, at url: URL) -> Bool {
    pace(at: url, beginning: body.prefix(documentBeginning)) { body } != nil
  }
}

extension OriginExchange.Response {
  /// Whether the body is all of the resource, also as a range.
  fileprivate var isWhole: Bool {
    guard status == 206 else { return WholeResponse.statuses.contains(status) }
    let content = headers.contentRange
    return content?.range.map { $0.lowerBound == 0 && $0.upperBound == content?.total } ?? false
  }

  fileprivate var wholeLength: Int64? { headers.bodyLength ?? headers.contentRange?.total }
}
