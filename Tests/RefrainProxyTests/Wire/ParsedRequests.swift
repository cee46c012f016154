// SPDX-License-Identifier: MIT
import NIOCore

@testable import RefrainProxy

/// A parser's result for a stream, in a comparable form: bodies joined, heads as sent.
struct ParsedRequests: Equatable {
  struct Request: Equatable {
    var head: String
    var framing: BodyFraming
    var keepsAlive: Bool
    var expectsContinue: Bool
    var marks: Marks
    var body: [UInt8] = []
    var isComplete = false
  }

  var requests: [Request] = []
  /// The error of a stream that is refused, or that ends within a request.
  var httpError: HTTPError?

  /// - Parameter pieces: the stream in the pieces in which it arrives.
  init(_ pieces: [[UInt8]], limits: RequestParser.Limits = .init()) {
    var parser = RequestParser(limits: limits)
    var buffer = ByteBuffer()
    do throws(HTTPError) {
      for piece in pieces {
        buffer.writeBytes(piece)
        while let event = try parser.next(&buffer) { take(event) }
      }
      try parser.finish()
    } catch {
      httpError = error
    }
  }

  var isEveryRequestComplete: Bool { requests.allSatisfy { $0.isComplete } }

  init(_ text: String, limits: RequestParser.Limits = .init()) {
    self.init([Array(text.utf8)], limits: limits)
  }

  private mutating func take(_ event: RequestParser.Event) {
    switch event {
    case .head(let head):
      requests.append(
        Request(
          head: String(buffer: head.bytes), framing: head.framing, keepsAlive: head.keepsAlive,
          expectsContinue: head.expectsContinue, marks: head.marks))
    case .body(let bytes):
      if let last = requests.indices.last {
        requests[last].body += Array(bytes.readableBytesView)
      }
    case .end:
      if let last = requests.indices.last { requests[last].isComplete = true }
    }
  }
}

/// Returns the first head of a stream.
func head(_ text: String) throws -> RequestHead? {
  var parser = RequestParser()
  var buffer = ByteBuffer(string: text)
  while let event = try parser.next(&buffer) {
    if case .head(let head) = event { return head }
  }
  return nil
}
