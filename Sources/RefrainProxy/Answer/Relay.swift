// SPDX-License-Identifier: MIT
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Refrain

/// Sends a client's request on to an origin as it is, and streams both ways.
struct Relay: Sendable {
  /// One for the process, never shut down, as the cache's own transport has it.
  private static let client: HTTPClient = {
    var configuration = HTTPClient.Configuration()
    // A redirect is an answer like any other.
    configuration.redirectConfiguration = .disallow
    configuration.decompression = .disabled
    configuration.timeout = .init(connect: .seconds(10), read: .seconds(60))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
    configuration.connectionPool.retryConnectionEstablishment = false
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()

  struct Response: Sendable {
    var status: Int
    var fields: HTTPFields
    var body: HTTPClientResponse.Body
  }

  func send(
    method: String, url: URL, fields: HTTPFields, framing: BodyFraming, writer: ResponseWriter
  ) async throws -> Response {
    guard SentTarget.isAsSpelled(url) else {
      throw Refusal(400, "The path cannot be sent on as it is: it is not UTF-8.")
    }
    var request = HTTPClientRequest(url: url.absoluteString)
    request.method = HTTPMethod(rawValue: method)
    request.headers = HTTPHeaders(fields.fields.map { ($0.name, $0.value) })
    switch framing {
    case .none: break
    case .length(let length):
      request.body = .stream(RequestBody(writer: writer), length: .known(length))
    case .chunked: request.body = .stream(RequestBody(writer: writer), length: .unknown)
    }
    do {
      let response = try await Self.client.execute(request, deadline: .distantFuture)
      guard (200...599).contains(response.status.code) else {
        throw Refusal(
          502, "\(url.host() ?? "The origin") answered \(response.status.code), which ends nothing."
        )
      }
      return Response(
        status: Int(response.status.code),
        fields: HTTPFields(response.headers.lazy.map { ($0.name, $0.value) }), body: response.body)
    } catch let error as ClientLeft {
      throw error
    } catch let refusal as Refusal {
      // Of the client's body.
      throw refusal
    } catch let error as CancellationError {
      throw error
    } catch {
      throw Self.refusal(for: error, host: url.host() ?? "The origin")
    }
  }

  private static func refusal(for error: any Error, host: String) -> Refusal {
    switch error as? HTTPClientError {
    case .readTimeout?, .deadlineExceeded?, .writeTimeout?:
      Refusal(504, "\(host) did not answer in time.")
    case .connectTimeout?, .getConnectionFromPoolTimeout?, .tlsHandshakeTimeout?:
      Refusal(504, "\(host) did not take the connection in time.")
    case .cancelled?:
      Refusal(502, "The request to \(host) was called off.")
    default:
      Refusal(502, "\(host) could not be asked: \("\(error)".prefix(300)).")
    }
  }

  /// A client's body, taken from its connection as the origin takes it.
  private struct RequestBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    let writer: ResponseWriter

    func makeAsyncIterator() -> Iterator { Iterator(writer: writer) }

    struct Iterator: AsyncIteratorProtocol {
      let writer: ResponseWriter

      func next() async throws -> ByteBuffer? { try await writer.nextBodyPart() }
    }
  }
}
