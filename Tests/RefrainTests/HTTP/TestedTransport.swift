// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  @testable import Refrain

  /// The transports that have to keep what `Transport` promises.
  enum TestedTransport: String, CaseIterable, Sendable {
    case curl, urlSession

    /// A new one each time: of a URLSession nothing may be left once its transport is let go.
    var transport: any Transport {
      switch self {
      case .curl: CurlTransport()
      case .urlSession: URLSessionTransport()
      }
    }
  }

  extension OriginResponse {
    /// All of the body.
    func whole() async throws -> Data {
      var whole = Data()
      for try await chunk in body { whole.append(chunk) }
      return whole
    }
  }
#endif
