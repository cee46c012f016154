// SPDX-License-Identifier: MIT
// The system's libcurl. Swift cannot call functions with a variable number of arguments: there is one
// here for each type of option instead. Which type an option wants is in curl_easy_setopt(3).
#include <curl/curl.h>
#include <stdbool.h>

// curl_global_init(3) may be called from any thread since then.
#if LIBCURL_VERSION_NUM < 0x075400
#error "Refrain needs libcurl 7.84 or newer."
#endif

static inline CURLcode refrain_curl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode refrain_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

// The text is copied.
static inline CURLcode refrain_curl_set_text(CURL *handle, CURLoption option, const char *text) {
  return curl_easy_setopt(handle, option, text);
}

// The list has to live as long as the handle uses it.
static inline CURLcode refrain_curl_set_list(
    CURL *handle, CURLoption option, struct curl_slist *list) {
  return curl_easy_setopt(handle, option, list);
}

static inline CURLcode refrain_curl_set_pointer(CURL *handle, CURLoption option, void *pointer) {
  return curl_easy_setopt(handle, option, pointer);
}

// For CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION, which are all of this type.
static inline CURLcode refrain_curl_set_data_callback(
    CURL *handle, CURLoption option, curl_write_callback callback) {
  return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode refrain_curl_set_socket_opener(
    CURL *handle, curl_opensocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode refrain_curl_set_socket_closer(
    CURL *handle, curl_closesocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode refrain_curl_set_connected_callback(
    CURL *handle, curl_prereq_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

// It may be longer than its type says.
static inline const void *refrain_curl_address(const struct curl_sockaddr *address) {
  return &address->addr;
}

static inline CURLcode refrain_curl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

// CURLINFO_PRIVATE.
static inline void *refrain_curl_get_private(CURL *handle) {
  char *pointer = NULL;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &pointer);
  return pointer;
}

static inline CURLMcode refrain_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode refrain_curl_multi_set_socket_callback(
    CURLM *multi, curl_socket_callback callback, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

static inline CURLMcode refrain_curl_multi_set_timer_callback(
    CURLM *multi, curl_multi_timer_callback callback, void *context) {
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

static inline CURLSHcode refrain_curl_share(CURLSH *share, curl_lock_data data) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

// The easy handle of a message, and what its transfer ended in: a union, which Swift does not show.
static inline CURLcode refrain_curl_result(const CURLMsg *message) { return message->data.result; }

// For CURLOPT_HTTPAUTH; Swift does not see a macro with a cast.
static const long refrain_curl_digest = (long)CURLAUTH_DIGEST;

// Ends the wait for a name's address with the transfer, at once (7.87).
static inline void refrain_curl_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#endif
}
