// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  @testable import Refrain

  /// The transports that have to keep the guarantees of `Transport`.
  enum TestedTransport: String, CaseIterable, Sendable {
    case curl, urlSession

    /// A new transport for each call: a URLSession must not outlive its transport.
    var transport: any Transport {
      switch self {
      case .curl: CurlTransport()
      case .urlSession: URLSessionRequests()
      }
    }
  }

  extension OriginResponse {
    /// Returns the whole body.
    func whole() async throws -> Data {
      var whole = Data()
      for try await chunk in body { whole.append(chunk) }
      return whole
    }
  }
#endif
