// SPDX-License-Identifier: MIT
#if os(Linux)
  package import Foundation

  /// A certificate authority that is not trusted by default, and a certificate of it for the
  /// addresses of this machine. Made by openssl(1).
  package struct PrivateAuthority: Sendable {
    package let directory: URL

    package var certificate: String { path("authority.pem") }
    package var serverCertificate: String { path("server.pem") }
    package var serverKey: String { path("server.key") }

    package struct Problem: Error, CustomStringConvertible {
      package let description: String
    }

    private func path(_ name: String) -> String {
      directory.appending(path: name).path(percentEncoded: false)
    }

    package init(in directory: URL) async throws {
      self.directory = directory
      let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
      try await run(
        ["req", "-x509", "-days", "2", "-subj", "/CN=Private"] + key + [
          "-keyout", path("authority.key"), "-out", certificate,
        ])
      try await run(
        ["req", "-x509", "-days", "2", "-subj", "/CN=server", "-CA", certificate]
          + ["-CAkey", path("authority.key")] + key + [
            "-addext", "subjectAltName=IP:127.0.0.1,IP:0.0.0.0,DNS:song.example",
            "-addext", "basicConstraints=critical,CA:FALSE",
            "-keyout", serverKey, "-out", serverCertificate,
          ])
    }

    /// Returns a directory with the authority under its hash, as c_rehash(1) makes it.
    package func hashedDirectory() async throws -> String {
      let hashed = directory.appending(path: "hashed", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: hashed, withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        atPath: certificate, toPath: hashed.appending(path: "a.pem").path(percentEncoded: false))
      try await run(["rehash", hashed.path(percentEncoded: false)])
      return hashed.path(percentEncoded: false)
    }

    private func run(_ arguments: [String]) async throws {
      let output = directory.appending(path: "openssl-\(UUID().uuidString).txt")
      let process = try LeashedProcess(
        RequiredProgram.openssl.path, arguments, in: directory, output: output)
      let status = try await process.exitStatus(within: .seconds(60))
      guard status == 0 else {
        let said = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        throw Problem(description: "openssl \(arguments[0]) failed: \(said)")
      }
    }
  }
#endif
