// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The documents (`DocumentRules`) to which redirects have led a moment ago, for the next request to
/// their own URLs: the references in a document are relative to that URL, so a proxy redirects its
/// clients there, and a download stores it there as well.
///
/// All methods may be called from any thread.
final class RedirectedResponses: Sendable {
  private struct Known {
    var request: HeaderFields
    /// Whether the request was to reach a public address (`URLFilter.requiresPublicAddress`).
    var isPublic: Bool
    var response: OriginExchange.Response

    func isUsable(at now: Date) -> Bool {
      (0..<patience).contains(now.timeIntervalSince(response.responseTime))
    }
  }

  /// A client that is redirected comes at once.
  private static let patience: TimeInterval = 5
  private static let capacity = 16

  /// By their URLs.
  private let known = Mutex<[URL: Known]>([:])

  /// Returns a response with a body that is kept here once it has come as a whole, if it is that of
  /// a document and may be stored; other responses as they are.
  func noting(
    _ response: OriginExchange.Response, to request: OriginRequest, isPublic: Bool
  ) -> OriginExchange.Response {
    let type = MediaType.essence(response.headers["Content-Type"])
    let length = response.wholeLength
    guard let rules = request.documents, response.isWhole, length ?? 0 <= rules.longest
    else { return response }
    let isNamed = rules.isDocument(mimeType: type, url: request.url)
    guard isNamed || rules.mayBeUnnamed(mimeType: type),
      !CacheControl(response.headers["Cache-Control"]).noStore,
      response.headers["Vary"]?.contains("*") != true
    else { return response }
    var noted = response
    noted.body = CopiedBody(body: response.body, length: length, longest: rules.longest) {
      [self] body in
      guard isNamed || rules.isDocument(body, at: request.url) else { return }
      var kept = response
      kept.hasMore = nil
      kept.body = AsyncThrowingStream<Data, any Error> { continuation in
        if !body.isEmpty { continuation.yield(body) }
        continuation.finish()
      }
      insert(Known(request: request.headers, isPublic: isPublic, response: kept), at: request.url)
    }
    return noted
  }

  private func insert(_ new: Known, at url: URL) {
    known.withLock { known in
      known = known.filter { $0.value.isUsable(at: new.response.responseTime) }
      if known.count < Self.capacity { known[url] = new }
    }
  }

  /// Returns and forgets the response to a request that would bring the same one again; nil if none
  /// is kept for this request.
  func take(
    for request: OriginRequest, isPublic: Bool, at now: Date
  ) -> OriginExchange.Response? {
    guard request.headers["Range"]?.hasPrefix("bytes=0-") != false else { return nil }
    return known.withLock { known in
      guard let found = known[request.url], found.isUsable(at: now),
        found.isPublic || !isPublic,
        found.request.grantingAccess == request.headers.grantingAccess
      else { return nil }
      let names = Variant.names(in: found.response.headers)
      guard Variant.of(found.request, names: names) == Variant.of(request.headers, names: names)
      else { return nil }
      return known.removeValue(forKey: request.url)?.response
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
