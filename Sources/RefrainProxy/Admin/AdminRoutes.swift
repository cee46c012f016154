// SPDX-License-Identifier: MIT
import Refrain

/// Maps requests of a proxy's operator to their handlers: those of the admin listener, and, without
/// the token, those under the proxy's token. A value.
struct AdminRoutes: Sendable {
  typealias Handler =
    @Sendable (ProxyService, AdminRequest) async throws -> AdminAnswer

  /// By path, then by method.
  private var handlers: [String: [String: Handler]] = [:]
  /// By method, for every path.
  private var everywhere: [String: Handler] = [:]

  /// - Parameters:
  ///   - method: one that GET names serves HEAD too.
  ///   - path: the whole path, without a query, as in `/health`.
  mutating func add(_ method: String, _ path: String, _ handler: @escaping Handler) {
    handlers[path, default: [:]][method] = handler
  }

  /// Adds the handler of a method for all paths; of the admin listener only.
  mutating func add(everywhere method: String, _ handler: @escaping Handler) {
    everywhere[method] = handler
  }

  /// Whether there is a handler of any method for a path.
  func contains(path: some StringProtocol) -> Bool { handlers[String(path)] != nil }

  /// Whether a method has a handler for all paths.
  func servesEverywhere(_ method: String) -> Bool { everywhere[method] != nil }

  /// - Throws: 404 if no handler has that path, 405 if none has that method.
  func handler(_ method: String, _ path: String) throws(HTTPError) -> Handler {
    if let handler = everywhere[method] { return handler }
    guard let ofPath = handlers[path] else {
      throw HTTPError(404, "No page exists at this path. See /health and /metrics.")
    }
    guard let handler = ofPath[method] ?? (method == "HEAD" ? ofPath["GET"] : nil) else {
      throw HTTPError(405, "This page does not serve \(method).")
    }
    return handler
  }

  /// The value of Allow for a path.
  func allow(_ path: String) -> String {
    let methods = handlers[path].map { Array($0.keys) } ?? []
    let all = methods + (methods.contains("GET") ? ["HEAD"] : []) + everywhere.keys
    return all.sorted().joined(separator: ", ")
  }
}

/// A request of a proxy's operator.
struct AdminRequest: Sendable {
  var method: String
  /// As sent, without the query; without the token.
  var path: String
  /// As sent, without the question mark.
  var query: String?
  var fields: HeaderFields
  /// Returns the next part of the body; nil at its end.
  var nextBodyPart: @Sendable () async throws -> [UInt8]?

  /// Returns the whole body.
  ///
  /// - Throws: 413 if it is longer than `limit`.
  func body(limit: Int) async throws -> [UInt8] {
    var body: [UInt8] = []
    while let part = try await nextBodyPart() {
      guard body.count + part.count <= limit else {
        throw HTTPError(413, "The body is longer than \(limit) bytes.")
      }
      body += part
    }
    return body
  }

  /// Whether the query has a parameter of this name, with any value or none.
  func hasParameter(_ name: String) -> Bool {
    query?.split(separator: "&").contains { $0.prefix { $0 != "=" } == name } ?? false
  }
}

/// The answer to a proxy's operator.
struct AdminAnswer: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    /// Sent as they come, until the stream ends or the client leaves.
    case stream(AsyncStream<[UInt8]>)
  }

  var status = 200
  /// Without those of the body's framing, `Date` and `Cache-Control: no-store`.
  var fields: HeaderFields
  var body: Body

  init(status: Int = 200, type: String, _ body: Body) {
    self.status = status
    fields = ["Content-Type": type, "X-Content-Type-Options": "nosniff"]
    self.body = body
  }

  static func json(_ value: some Encodable, status: Int = 200) throws -> AdminAnswer {
    AdminAnswer(
      status: status, type: "application/json", .bytes(try JSONLine.bytes(of: value)))
  }
}
