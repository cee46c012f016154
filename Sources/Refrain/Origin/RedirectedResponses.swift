// SPDX-License-Identifier: MIT
import Foundation

/// The documents (`DocumentRules`) to which redirects have led a moment ago, for the next request to
/// their own URLs: the references in a document are relative to that URL, so a proxy redirects its
/// clients there, and a download stores it there as well. A pure value.
struct RedirectedResponses: Sendable {
  typealias Response = OriginExchange.Response

  private static let capacity = 16

  /// By their URLs.
  private var known: [URL: Response] = [:]

  mutating func keep(_ response: Response) {
    known = known.filter { Self.isUsable($0.value, at: response.responseTime) }
    if known.count < Self.capacity { known[response.url] = response }
  }

  /// A client that is redirected comes at once.
  private static func isUsable(_ response: Response, at now: Date) -> Bool {
    (0..<5).contains(now.timeIntervalSince(response.responseTime))
  }

  /// Returns and forgets the response to a request that would bring the same one again.
  mutating func take(for request: OriginRequest, at now: Date) -> Response? {
    guard request.headers["Range"]?.hasPrefix("bytes=0-") != false,
      let found = known[request.url], Self.isUsable(found, at: now),
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

extension Origin {
  /// Returns a response whose body is kept for its own URL once it has come as a whole, if it is that
  /// of a document and may be stored; other responses as they are.
  func keepingDocument(of response: OriginExchange.Response) -> OriginExchange.Response {
    let (url, headers) = (response.url, response.headers)
    let (content, type) = (headers.contentRange, MediaType.essence(headers["Content-Type"]))
    let length = headers.bodyLength ?? content?.total
    guard let rules = response.request.documents, length ?? 0 <= rules.longest,
      WholeResponse.statuses.contains(response.status)
        || response.status == 206 && content?.range == 0..<(content?.total ?? .max)
    else { return response }
    let isNamed = rules.isDocument(mimeType: type, url: url)
    guard isNamed || rules.mayBeUnnamed(mimeType: type),
      !CacheControl(headers["Cache-Control"]).noStore,
      headers["Vary"]?.contains("*") != true
    else { return response }
    var copied = response
    copied.body = SteppedBody(response.body) {
      var copy: Data? = Data()
      return { chunk in
        if let chunk { copy?.append(chunk) }
        guard let body = copy else { return chunk }
        let isWhole = length.map { $0 == Int64(body.count) } ?? (chunk == nil)
        if isWhole || Int64(body.count) > rules.longest { copy = nil }
        // Before the last bytes are returned.
        let beginning = body.prefix(documentBeginning)
        if isWhole, Int64(body.count) <= rules.longest,
          isNamed || rules.pace(at: url, beginning: beginning, whole: { body }) != nil
        {
          let whole = response.withBody(body)
          self.withMemory { $0.redirected.keep(whole) }
        }
        return chunk
      }
    }
    return copied
  }
}

/// The resources whose redirects led elsewhere when the origin confirmed the stored bytes, as long as
/// this process runs. A stored document stays at its earlier URL, since what it names is stored below
/// that, until the origin refuses the earlier URL: it may be that of a session, or have a token. A
/// pure value.
struct MovedResources: Sendable {
  private static let capacity = 256

  /// By the earlier URLs, the resource as it is requested, and its newest URL after redirects.
  private var moves: [String: (resource: Resource, target: URL)] = [:]

  mutating func note(_ resource: Resource, from earlier: URL, to target: URL) {
    if moves.count >= Self.capacity { moves = [:] }
    // So that no move leads back.
    moves[Self.text(target)] = nil
    moves[Self.text(earlier)] = (resource, target)
  }

  /// Returns the move away from a URL; nil if there was none.
  func move(from url: URL) -> (resource: Resource, target: URL)? { moves[Self.text(url)] }

  private static func text(_ url: URL) -> String { url.withoutUserInfo.absoluteString }
}

extension MediaCacheError {
  /// Whether the origin refuses a URL that it has accepted before, or has forgotten it.
  package var refusesURL: Bool { status.map { Self.refusesURL($0) } ?? false }

  package static func refusesURL(_ status: Int) -> Bool { [401, 403, 404, 410].contains(status) }
}
