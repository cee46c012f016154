// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport

  /// A network proxy that requires a user and a password.
  enum RealProxy: String, CaseIterable, Sendable {
    /// Speaks HTTP.
    case tinyproxy
    /// Speaks SOCKS5.
    case microsocks

    static let user = "listener"
    static let password = "secret"

    var program: RequiredProgram {
      switch self {
      case .tinyproxy: .tinyproxy
      case .microsocks: .microsocks
      }
    }

    private func arguments(port: Int, directory: URL) throws -> [String] {
      switch self {
      case .tinyproxy:
        let file = directory.appending(path: "tinyproxy.conf")
        let text = """
          Port \(port)
          Listen 127.0.0.1
          Timeout 60
          BasicAuth \(Self.user) \(Self.password)

          """
        try Data(text.utf8).write(to: file)
        return ["-d", "-c", file.path(percentEncoded: false)]
      case .microsocks:
        return ["-i", "127.0.0.1", "-p", "\(port)", "-u", Self.user, "-P", Self.password]
      }
    }

    /// Runs the proxy while `body` does.
    ///
    /// - Parameter body: receives the value for `http_proxy`, as a function of scheme and password.
    func run(
      in directory: URL, _ body: (_ url: (String, String) -> String) async throws -> Void
    ) async throws {
      guard let port = FreePort.next() else {
        throw RealOrigin.Problem(description: "There is no free port.")
      }
      let process = try await RealOrigin.launch(
        program, arguments(port: port, directory: directory), port: port, in: directory)
      do {
        try await body { scheme, password in
          "\(scheme)://\(Self.user):\(password)@127.0.0.1:\(port)"
        }
      } catch {
        await process.kill()
        throw error
      }
      await process.kill()
    }
  }
#endif
