// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public let AVFoundationErrorDomain = "AVFoundationErrorDomain"

  /// The AVError codes that a player distinguishes.
  public enum AVError {
    public enum Code: Int, Sendable {
      case unknown = -11800
      @available(macOS, unavailable)
      case mediaServicesWereReset = -11819
      case decodeFailed = -11821
      case fileFormatNotRecognized = -11828
      case fileFailedToParse = -11829
      case decoderNotFound = -11833
      case contentIsProtected = -11831
    }
  }
#endif
