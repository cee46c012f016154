// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

/// The network options of the commands that fetch.
///
/// Most are libcurl's and therefore for Linux only; on Apple's platforms the system's settings
/// apply.
struct NetworkOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Seconds to wait for the first byte of a response. Slow origins, such as archives on \
      tape, may need more than the default, 60.
      """, valueName: "seconds"))
  var responseTimeout = 60

  #if os(Linux)
    @Option(
      help: ArgumentHelp(
        "Trust the certificate authorities of a file (PEM). Default: $SSL_CERT_FILE, else the system's.",
        valueName: "file"),
      completion: .file())
    var cacert: String?

    @Flag(help: "Verify no certificate: anyone on the path can read and change the data.")
    var insecure = false

    @Flag(help: "Read credentials from ~/.netrc, by host.")
    var netrc = false

    @Option(
      help: ArgumentHelp("Read credentials from a file like ~/.netrc.", valueName: "file"),
      completion: .file())
    var netrcFile: String?

    @Option(
      help: ArgumentHelp(
        "Connect from a network interface, or from an address of this machine.", valueName: "name"))
    var interface: String?

    @Option(
      help: ArgumentHelp(
        "Resolve a host to another address; may be given several times.",
        valueName: "host:port:address"),
      transform: { text in try usage { try ResolvedAddress.parse(text) } })
    var resolve: [String] = []

    private func validateFiles() throws {
      guard !netrc || netrcFile == nil else {
        throw ValidationError("Use either --netrc or --netrc-file.")
      }
      for (option, path) in [("--cacert", cacert), ("--netrc", credentialsFile)] {
        guard let path, !FileManager.default.isReadableFile(atPath: path) else { continue }
        throw ValidationError("\(option): \(printable(path)) cannot be read.")
      }
    }

    private var credentialsFile: String? {
      netrc
        ? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".netrc")
          .path(percentEncoded: false) : netrcFile
    }

    private var settings: CurlTransport.Settings {
      var settings = CurlTransport.Settings()
      if let cacert { settings.certificateFile = cacert }
      settings.verifiesCertificates = !insecure
      settings.credentialsFile = credentialsFile
      settings.networkInterface = interface
      settings.addresses = resolve
      return settings
    }
  #endif

  func validate() throws {
    guard (1...86_400).contains(responseTimeout) else {
      throw ValidationError("--response-timeout is a number of seconds from 1 to 86400.")
    }
    #if os(Linux)
      try validateFiles()
    #endif
  }

  /// Returns the cache configuration of a command; warns about unsafe options.
  func configuration(_ options: GlobalOptions) -> MediaCache.Configuration {
    var configuration = options.configuration
    configuration.responseTimeout = .seconds(responseTimeout)
    #if os(Linux)
      configuration.transport = CurlTransport(settings)
      if insecure {
        Console.shared.noteLater(
          "refrain: --insecure: no certificate is verified; anyone on the path can read and change "
            + "the data.")
      }
    #endif
    return configuration
  }
}

/// The address of a host on the command line: `HOST:PORT:ADDRESS`, as in curl(1); several addresses
/// are separated by commas.
enum ResolvedAddress {
  static func parse(_ text: String) throws -> String {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[2].isEmpty,
      let port = Int(parts[1]), (1...65_535).contains(port)
    else {
      throw InvalidArgument(
        "an address is written 'host:port:address', as in 'a.example:443:10.0.0.7'")
    }
    return text
  }
}
